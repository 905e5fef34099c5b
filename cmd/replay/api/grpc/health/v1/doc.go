// Package healthv1 is the health service of gRPC: what load balancers and
// supervisors ask. It is made here from its .proto because the package that
// others use brings all of gRPC along.
package healthv1
