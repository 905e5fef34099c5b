package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
)

// onlyValues is LiveService without its stream.
type onlyValues struct {
	tachographv1connect.UnimplementedLiveServiceHandler
	of *Service
}

func (o onlyValues) GetValues(ctx context.Context, r *connect.Request[tachographv1.GetValuesRequest]) (*connect.Response[tachographv1.GetValuesResponse], error) {
	return o.of.GetValues(ctx, r)
}

// Whatever stands in the body of a request, as JSON or as protobuf, there is an
// answer or an error that the client can read.
func FuzzRequest(f *testing.F) {
	methods := []string{
		tachographv1connect.CatalogServiceListMetricsProcedure, tachographv1connect.CatalogServiceListCategoriesProcedure,
		tachographv1connect.CatalogServiceListInstancesProcedure, tachographv1connect.CatalogServiceListArchivesProcedure,
		tachographv1connect.LiveServiceGetValuesProcedure,
	}
	b, err := proto.Marshal(&tachographv1.GetValuesRequest{Selection: &tachographv1.Selection{Metrics: []string{"vm.*"}, Categories: []string{"vm.pages"}, Instances: []string{"/1/"}}})
	if err != nil {
		f.Fatal(err)
	}
	for n := range methods {
		f.Add(uint8(n), false, b)
		f.Add(uint8(n), true, []byte(`{"selection": {"metrics": ["kern.*", "x"], "instances": ["*1*"]}}`))
		f.Add(uint8(n), true, []byte(`{"instanceDomain": "load", "pageSize": 3, "pageToken": "v", "includeAbsent": true}`))
	}
	m := newMac(f)
	mux := http.NewServeMux()
	mux.Handle(tachographv1connect.NewCatalogServiceHandler(m.Service))
	mux.Handle(tachographv1connect.NewLiveServiceHandler(onlyValues{of: m.Service}))
	f.Fuzz(func(t *testing.T, method uint8, text bool, body []byte) {
		r := httptest.NewRequest("POST", methods[int(method)%len(methods)], bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/proto")
		if text {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if (text || w.Code != 200) && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%d, and no JSON: %s", w.Code, w.Body)
		}
		if bytes.ContainsRune(w.Body.Bytes(), 0x1b) && w.Code != 200 {
			t.Errorf("a terminal would obey %q", w.Body)
		}
	})
}
