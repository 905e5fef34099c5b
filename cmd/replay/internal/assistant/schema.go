package assistant

import (
	"strings"
)

// A schema is one of JSON Schema.
type schema = map[string]any

// ofKind returns the schema of a value.
func ofKind(k kind) schema {
	switch k {
	case texts:
		return schema{"type": "array", "items": schema{"type": "string"}}
	case whole:
		return schema{"type": "integer"}
	case number:
		return schema{"type": "number"}
	case truth:
		return schema{"type": "boolean"}
	case object:
		return schema{"type": "object"}
	}
	return schema{"type": "string"}
}

func described(s schema, about string) schema {
	if about != "" {
		s["description"] = about
	}
	return s
}

// input is the schema of the tool's arguments.
func (t *tool) input() schema {
	properties, required := schema{}, []string{}
	for _, p := range t.all() {
		s := ofKind(p.kind)
		if p.kind == whole {
			s["minimum"] = 0
		}
		if p.kind == list { // One text is taken for a list, too.
			s = schema{"anyOf": []schema{{"type": "string"}, ofKind(list)}}
			if p.name == match.name {
				s = schema{"anyOf": []schema{{"type": []string{"string", "integer"}}, {"type": "array", "items": schema{"type": []string{"string", "integer"}}}}}
			}
		}
		if p.one != nil {
			s["enum"] = p.one
		}
		properties[p.name] = described(s, p.about)
		if p.must {
			required = append(required, p.name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

var absentSchema = schema{"type": "array", "items": ofKind(object), "description": "times {from, to, reason} without values: assume nothing for them"}

// output is the schema of the tool's answers.
func (t *tool) output() schema {
	properties := schema{
		"archives": described(ofKind(texts), "ids"), "zone": described(ofKind(text), "of all times"), "from": ofKind(text), "to": ofKind(text), "absent": absentSchema,
		"truncated": described(ofKind(object), "{shown, of, next}: next is the call that shows more"),
		"rerun":     described(ofKind(text), "the command that proves it"),
	}
	required := []string{"archives", "zone", "rerun"}
	for i := range t.parts {
		p := &t.parts[i]
		items := p.row()
		if p.series {
			items = oneSeries
			properties["start"] = described(ofKind(text), "from which t is counted")
			properties["step_seconds"] = ofKind(number)
		}
		properties[p.key] = schema{"type": "array", "items": items}
		required = append(required, p.key)
	}
	return schema{"type": "object", "properties": properties, "required": required}
}

// row is the schema of a row. A field without a value is left out.
func (p *part) row() schema {
	properties := schema{"host": ofKind(text), "absent": described(ofKind(object), "why fields have no value")}
	for _, f := range p.fields {
		about := f.about
		if f.kind == number && about == "" {
			about = unitIn(f.name)
		}
		properties[f.name] = described(ofKind(f.kind), about)
	}
	if _, ok := properties["units"]; !ok {
		properties["units"] = noUnits()
	}
	return schema{"type": "object", "properties": properties}
}

// unitIn returns the units that the name of a field has.
func unitIn(name string) string {
	for _, u := range []struct{ end, units string }{{"_kb", "kilobytes (1024)"}, {"_bytes", "bytes"}, {"bytes_per_sec", "bytes per second"}, {"_secs", "seconds"}, {"seconds", "seconds"}} {
		if strings.HasSuffix(name, u.end) {
			return u.units
		}
	}
	return ""
}

func noUnits() schema {
	return described(ofKind(text), "empty: a share of 1, or a number without units")
}

var oneSeries = schema{"type": "object", "properties": schema{
	"host": ofKind(text), "metric": ofKind(text), "instance": ofKind(text), "units": noUnits(),
	"t":      schema{"type": "array", "items": ofKind(number), "description": "seconds from start to the end of each step"},
	"v":      schema{"type": "array", "items": schema{"type": []string{"number", "string", "null"}}, "description": "null: absent says why"},
	"absent": absentSchema,
}}
