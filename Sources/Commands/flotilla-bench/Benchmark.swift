internal import Foundation

/// A command of this program: a benchmark, a proof, or a process that one of them starts. `Benchmark+Table.swift` lists
/// all of them.
struct Benchmark {
    let name: String
    /// The work, in one sentence for a person.
    let summary: String
    /// The options as a person writes them, such as `[--rounds N]`, or "" for no options.
    var options = ""
    /// Whether it takes `--bootstrap`, the address of a running cluster. Without this option it starts a broker.
    var needsCluster = false
    /// Does the work with the arguments that follow the name. Throws if the work was not done or a check failed.
    let run: ([String]) throws -> Void

    /// The text that `--help` prints.
    var usage: String {
        let allOptions = options + (needsCluster ? " [--bootstrap HOST:PORT]" : "")
        return "usage: flotilla-bench \(name) \(allOptions.trimmingCharacters(in: .whitespaces))\n\(summary)"
    }
}
