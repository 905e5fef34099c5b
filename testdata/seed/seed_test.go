package seed

import "testing"

func TestOf(t *testing.T) {
	t.Setenv(variable, "")
	if got := Of(t, 7); got != 7 {
		t.Errorf("without a variable it is %d", got)
	}
	t.Setenv(variable, "18446744073709551615")
	if got := Of(t, 7); got != 1<<64-1 {
		t.Errorf("the variable is not heard: %d", got)
	}
}
