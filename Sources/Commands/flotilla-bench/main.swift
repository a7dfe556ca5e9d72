internal import Foundation
internal import Glibc
internal import KafkaTesting
internal import Lifecycle

// Runs the command that the first argument names (`Benchmark.all`), or `day` without arguments.
private var arguments = Array(CommandLine.arguments.dropFirst())
if arguments.isEmpty { arguments = ["day"] }
private let commandName = arguments.removeFirst()
guard let benchmark = Benchmark.all.first(where: { $0.name == commandName }) else {
    print("usage: flotilla-bench NAME [ARGUMENT…]; NAME --help shows the arguments")
    for benchmark in Benchmark.all { print("  \(benchmark.name)  \(benchmark.summary)") }
    let status: ExitStatus = commandName == "--help" ? .success : .usage
    exit(status.rawValue)
}
if arguments.contains("--help") {
    print(benchmark.usage)
    exit(ExitStatus.success.rawValue)
}
// The tests name their cluster in FLOTILLA_KAFKA. A benchmark uses the same one.
if benchmark.needsCluster, let brokers = TestCluster.environmentBrokers, !arguments.contains("--bootstrap") {
    arguments += ["--bootstrap", brokers.joined(separator: ",")]
}
// Programs that this process starts would refuse the variable as an unknown setting.
unsafe unsetenv("FLOTILLA_KAFKA")
do {
    try benchmark.run(arguments)
} catch {
    print("flotilla-bench \(benchmark.name): \(error)")
    exit(EXIT_FAILURE)
}
