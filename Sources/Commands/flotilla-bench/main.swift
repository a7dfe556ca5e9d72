internal import Foundation
internal import Glibc
internal import KafkaTesting

private var arguments = Array(CommandLine.arguments.dropFirst())
if arguments.isEmpty { arguments = ["day"] }
guard let benchmark = Benchmark.all.first(where: { $0.name == arguments.first }) else {
    print("usage: flotilla-bench NAME [ARGUMENT…]; NAME --help shows the arguments")
    for benchmark in Benchmark.all { print("  \(benchmark.name)  \(benchmark.summary)") }
    exit(arguments.first == "--help" ? 0 : 64)
}
arguments.removeFirst()
if arguments.contains("--help") {
    print(benchmark.usage)
    exit(0)
}
if benchmark.needsCluster, let brokers = TestCluster.environmentBrokers, !arguments.contains("--bootstrap") {
    arguments += ["--bootstrap", brokers.joined(separator: ",")]
}
// Programs that this process starts would refuse the variable as an unknown setting.
unsafe unsetenv("FLOTILLA_KAFKA")
do {
    try benchmark.run(arguments)
} catch {
    print("flotilla-bench \(benchmark.name): \(error)")
    exit(1)
}
