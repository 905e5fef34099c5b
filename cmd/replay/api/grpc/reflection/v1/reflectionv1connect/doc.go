// Package reflectionv1connect is the service of package reflectionv1.
package reflectionv1connect
