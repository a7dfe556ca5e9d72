internal import Foundation

/// A command of this program: a benchmark, a proof, or a process that one of them starts.
struct Benchmark {
    let name: String
    /// The work, in one sentence for a person.
    let summary: String
    /// The options as a person writes them, such as `[--rounds N]`, or "" for no options.
    var options = ""
    /// Whether it takes `--bootstrap`. Without this option it starts a broker.
    var needsCluster = false
    /// Does the work with the arguments that follow the name.
    let run: ([String]) throws -> Void

    var usage: String {
        let allOptions = options + (needsCluster ? " [--bootstrap HOST:PORT]" : "")
        return "usage: flotilla-bench \(name) \(allOptions.trimmingCharacters(in: .whitespaces))\n\(summary)"
    }
}
