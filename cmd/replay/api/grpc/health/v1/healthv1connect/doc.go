// Package healthv1connect is the service of package healthv1.
package healthv1connect
