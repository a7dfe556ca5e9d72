internal import Glibc

/// Benchmarks: each prints what it does, the median of several runs, and its ratio to a peer that did
/// the same work in the same run.
private let benchmarks: [(name: String, what: String, run: ([String]) throws -> Void)] = [
    ("apns", "pushes as senders make them, beside h2load", APNsBenchmark.run),
    ("apns-simulator", "the simulated APNs, every check made, under h2load", SimulatorBenchmark.run),
    (
        "broker", "records and transactions through the embedded broker, beside librdkafka's mock cluster",
        BrokerBenchmark.run
    ),
    ("broker-log", "one partition's log: appends, reads, a start after a kill", BrokerLogBenchmark.run),
    (
        "gateway", "reports over HTTP into the embedded broker, with h2load as the phones",
        GatewayBenchmark.run
    ),
    ("http2", "pushes over HTTP/2 and TLS, beside h2load and nghttpd", HTTP2Benchmark.run),
    (
        "ingest", "reports through ingest: from Kafka, into the registry, transactions included",
        IngestBenchmark.run
    ),
    (
        "ingest-kills", "ingest killed at every step while reports flow, against the model",
        IngestKillsProof.run
    ),
    ("ingest-worker", "the ingest stage as a process of its own, for the two above", IngestWorker.run),
    ("json", "token reports decoded and written, beside Foundation", JSONBenchmark.run),
    ("kafka", "records produced and consumed, beside the same calls in C", KafkaBenchmark.run),
    ("merge", "reports merged into installations by the deciding part alone", MergeBenchmark.run),
    ("registry", "a lane of the registry restored, walked in pages, changed", RegistryBenchmark.run),
    ("store", "a registry's rows written in random order and scanned", StoreBenchmark.run),
]

private let arguments = CommandLine.arguments.dropFirst()
guard let benchmark = benchmarks.first(where: { $0.name == arguments.first }) else {
    print("usage: flotilla-bench NAME [ARGUMENT…]")
    for benchmark in benchmarks { print("  \(benchmark.name)  \(benchmark.what)") }
    exit(64)
}
do {
    try benchmark.run(Array(arguments.dropFirst()))
} catch {
    print("flotilla-bench \(benchmark.name): \(error)")
    exit(1)
}
