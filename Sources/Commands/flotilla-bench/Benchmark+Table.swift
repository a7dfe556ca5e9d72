extension Benchmark {
    /// All commands, in the order in which the help lists them.
    static var all: [Benchmark] {
        [
            Benchmark(
                name: "apns", summary: "pushes as senders make them, compared with h2load",
                options: "[--requests N] [--rounds N] [--streams N] [--body-bytes N]", run: APNsBenchmark.run),
            Benchmark(
                name: "apns-simulator", summary: "the simulated APNs, every check made, under h2load",
                options: "[PUSHES]", run: SimulatorBenchmark.run),
            Benchmark(
                name: "broker",
                summary:
                    "records and transactions through the embedded broker, compared with librdkafka's mock cluster",
                options: "[--records N | --ten-gib]", run: BrokerBenchmark.run),
            Benchmark(
                name: "broker-log", summary: "one partition's log: appends, reads, a start after a kill",
                options: "[--mib N] [--records N] [--runs N] [--dir DIRECTORY]", run: BrokerLogBenchmark.run),
            Benchmark(
                name: "cluster",
                summary: "nodes of the Kafka cluster die and return while a match is sent to a fleet",
                options:
                    "[--kills N] [--phones N] [--each N] [--nodes N] [--seed N] [--bootstrap HOSTS --kill 'COMMAND {node}' --start 'COMMAND {node}']",
                run: ClusterProof.run),
            Benchmark(
                name: "freshness",
                summary: "a group updated faster than APNs takes it, with and without conflation",
                options: "[--phones N] [--seconds N] [--delay-milliseconds N]", needsCluster: true,
                run: FreshnessBenchmark.run),
            Benchmark(
                name: "gateway", summary: "reports over HTTP into Kafka, with h2load as the phones",
                needsCluster: true, run: GatewayBenchmark.run),
            Benchmark(
                name: "http2", summary: "pushes over HTTP/2 and TLS, compared with h2load and nghttpd",
                options: "[--requests N] [--streams N] [--connections N] [--rounds N] [--json]",
                run: HTTP2Benchmark.run),
            Benchmark(
                name: "idle", summary: "the cost of `flotilla up` while nothing happens",
                options: "[--seconds N]",
                run: IdleBenchmark.run),
            Benchmark(
                name: "idle-time",
                summary: "a whole fleet is idle until retention has emptied its topics, and starts again",
                options: "[--phones N] [--updates N]", needsCluster: true, run: IdleProof.run),
            Benchmark(
                name: "ingest",
                summary: "reports through ingest: from Kafka, into the registry, transactions included",
                options: "[--reports N] [--installations N] [--rounds N] [--batch N]", needsCluster: true,
                run: IngestBenchmark.run),
            Benchmark(
                name: "insight", summary: "receipts through insight: from Kafka into its files",
                options: "[--jobs N] [--per-receipt N] [--rounds N]", needsCluster: true,
                run: InsightBenchmark.run),
            Benchmark(
                name: "ingest-kills",
                summary: "ingest is killed at every step while reports arrive, and compared with the model",
                options: "[--reports N] [--installations N] [--kills N] [--freezes N] [--seed N]",
                needsCluster: true, run: IngestKillsProof.run),
            Benchmark(
                name: "ingest-worker", summary: "the ingest stage as a separate process",
                options:
                    "--brokers HOST:PORT --data DIRECTORY [--prefix P] [--lanes N] [--sweep-milliseconds N] "
                    + "[--die-at-step N] [--at-time N] [--after-step N]", run: StageWorker.runIngest),
            Benchmark(
                name: "day", summary: "the canonical day of a whole fleet, which runs if no name is given",
                options: "[--phones N] [--updates N] [--sealed]", needsCluster: true, run: DayBenchmark.run),
            Benchmark(
                name: "expander-worker", summary: "fan-out's expander as a separate process",
                options: "--brokers HOST:PORT --data DIRECTORY [--prefix P] [--lanes N] [--die-at-step N] "
                    + "[--at-time N] [--after-step N]", run: StageWorker.runExpander),
            Benchmark(
                name: "fanout", summary: "sends through fan-out as a process: from Kafka to visible jobs",
                options: "[--tokens N] [--rounds N] [--body BYTES] [--per-sheet N] [--singles N] "
                    + "| --small GROUPS [--rate N] [--seconds N]; [--lanes N]", needsCluster: true,
                run: FanOutBenchmark.run),
            Benchmark(
                name: "fan-out-worker", summary: "planner and expander as one process",
                options: "--brokers HOST:PORT --data DIRECTORY [--prefix P] [--lanes N] [--per-sheet N]",
                run: StageWorker.runFanOut),
            Benchmark(
                name: "fan-out-kills",
                summary: "the expander is killed at every step while sends expand; each job must exist once",
                options: "[--phones N] [--kills N] [--freezes N] [--seed N]", needsCluster: true,
                run: ExpanderKillsProof.run),
            Benchmark(
                name: "installation",
                summary: "a whole fleet with kills, freezes, stops, new processes and wrong clocks",
                options: "[--phones N] [--updates N] [--each N] [--seed N]", needsCluster: true,
                run: InstallationProof.run),
            Benchmark(
                name: "json", summary: "token reports decoded and written, compared with Foundation",
                run: JSONBenchmark.run),
            Benchmark(
                name: "kafka", summary: "records produced and consumed, compared with the same calls in C",
                options: "[--records N] [--size BYTES] [--rounds N]", run: KafkaBenchmark.run),
            Benchmark(
                name: "million",
                summary: "one update to a group of a million phones, every process on this machine",
                options: "[--phones N] [--sealed]", needsCluster: true, run: MillionBenchmark.run),
            Benchmark(
                name: "sender-histories",
                summary: "seeded histories of senders that die, stop and change places",
                options: "[--histories N] [--seed N]", run: SenderHistoriesProof.run),
            Benchmark(
                name: "merge", summary: "reports merged into installations by ingest's pure decisions alone",
                run: MergeBenchmark.run),
            Benchmark(
                name: "insight-kills",
                summary: "insight is killed at every step while a day arrives; every figure must be equal",
                options: "[--records N] [--people N] [--kills N] [--freezes N] [--seed N]",
                needsCluster: true,
                run: InsightKillsProof.run),
            Benchmark(
                name: "insight-worker", summary: "insight as a separate process",
                options: "--brokers HOST:PORT --data DIRECTORY [--prefix P] [--lanes N] [--die-at-step N] "
                    + "[--at-time N] [--after-step N]", run: StageWorker.runInsight),
            Benchmark(
                name: "webhook-kills",
                summary: "the webhooks stage is killed at every step; every event must arrive, in order",
                options: "[--events N] [--users N] [--kills N] [--freezes N] [--seed N] [--calls FILE]",
                needsCluster: true,
                run: WebhookKillsProof.run),
            Benchmark(
                name: "webhooks-worker", summary: "the webhooks stage as a separate process",
                options:
                    "--brokers HOST:PORT --data DIRECTORY --sealing-keys FILE --webhook JSON [--prefix P] "
                    + "[--lanes N] [--die-at-step N] [--at-time N] [--after-step N]",
                run: StageWorker.runWebhooks),
            Benchmark(
                name: "planner", summary: "sends through fan-out's planner: from Kafka to visible expansions",
                options: "[--sends N] [--rounds N] [--groups N [--rate N] [--seconds N]]", needsCluster: true,
                run: PlannerBenchmark.run),
            Benchmark(
                name: "planner-kills",
                summary:
                    "the planner is killed at every step while sends arrive, and compared with the model",
                options: "[--sends N] [--kills N] [--freezes N] [--seed N]", needsCluster: true,
                run: PlannerKillsProof.run),
            Benchmark(
                name: "planner-worker", summary: "fan-out's planner as a separate process",
                options:
                    "--brokers HOST:PORT --data DIRECTORY [--prefix P] [--lanes N] [--sweep-milliseconds N] "
                    + "[--die-at-step N] [--at-time N] [--after-step N]", run: StageWorker.runPlanner),
            Benchmark(
                name: "registry", summary: "a lane of the registry restored, walked in pages, changed",
                options: "[--tokens N] [--scans N] [--changes N] [--kafka ROWS]", needsCluster: true,
                run: RegistryBenchmark.run),
            Benchmark(
                name: "scheduler",
                summary: "timers through the scheduler: from schedules in Kafka to sends in Kafka",
                options: "[--timers N] [--loaded N] [--rate N] [--seconds N]", needsCluster: true,
                run: SchedulerBenchmark.run),
            Benchmark(
                name: "scheduler-kills",
                summary: "the scheduler is killed at every step while schedules arrive and timers fire",
                options: "[--orders N] [--kills N] [--freezes N] [--seed N]", needsCluster: true,
                run: SchedulerKillsProof.run),
            Benchmark(
                name: "scheduler-worker", summary: "the scheduler as a separate process",
                options: "--brokers HOST:PORT --data DIRECTORY [--prefix P] [--lanes N] [--die-at-step N] "
                    + "[--at-time N] [--after-step N]", run: StageWorker.runScheduler),
            Benchmark(
                name: "sender",
                summary: "jobs through the sender: from Kafka to receipts in Kafka, compared with h2load",
                options: "[--jobs N] [--rounds N] [--body BYTES] [--per-sheet N] [--backlog N]",
                needsCluster: true,
                run: SenderBenchmark.run),
            Benchmark(
                name: "sender-kills",
                summary: "senders, broker and APNs are killed while jobs arrive; each job must be done once",
                options:
                    "[--jobs N] [--kills N] [--freezes N] [--stops N] [--broker-kills N] [--apns-kills N] "
                    + "[--permits N] [--seed N]", needsCluster: true, run: SenderKillsProof.run),
            Benchmark(
                name: "sender-worker", summary: "the sender as a separate process",
                options:
                    "--brokers HOST:PORT --data DIRECTORY --keys DIRECTORY --apns HOST:PORT --authorities FILE "
                    + "[--apns-sandbox HOST:PORT] [--prefix P] [--lanes N] [--permits N] [--answer-milliseconds N] [--settle-milliseconds N]",
                run: StageWorker.runSender),
            Benchmark(
                name: "sends", summary: "sends over HTTP into Kafka, with h2load as the backends",
                needsCluster: true, run: SendsBenchmark.run),
            Benchmark(
                name: "store", summary: "a registry's rows written in random order and scanned",
                options: "[--rows N] [--batch N] [--runs N] [--unsorted]", run: StoreBenchmark.run),
        ]
    }
}
