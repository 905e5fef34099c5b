class Tachograph < Formula
  desc "Flight recorder for macOS: every metric, every process, every second"
  homepage "https://github.com/tachograph/tachograph"
  url "https://github.com/tachograph/tachograph/archive/refs/tags/v1.0.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"
  head "https://github.com/tachograph/tachograph.git", branch: "main"

  depends_on "go" => :build

  def install
    ENV["CGO_ENABLED"] = "0"
    %w[recorder replay].each do |program|
      system "go", "build", *std_go_args(output: bin/program, ldflags: "-s -w"), "./cmd/#{program}"
      generate_completions_from_executable(bin/program, "completion")
      system bin/program, "man", buildpath/"man"
    end
    man1.install Dir[buildpath/"man/*.1"]
  end

  def caveats
    <<~EOS
      To record from the start of the machine on:
        sudo recorder install
      This copies the programs to /Library/Tachograph, where only root can
      change them. Do it again after an upgrade.
    EOS
  end

  test do
    system bin/"recorder", "run", "--archive", testpath/"archives", "--for", "3s"
    assert_match "recorder", shell_output("#{bin}/replay info #{testpath}/archives")
  end
end
