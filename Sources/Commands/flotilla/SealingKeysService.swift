internal import Catalog
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import TokenSealing
internal import Topics

/// The service that prevents a start with other sealing keys than the installation uses. The first process
/// writes the fingerprints of its keys to the catalog.
struct SealingKeysService: Service {
    /// The limit for reading the catalog and for reading the written record back.
    private static let catalogTimeoutMilliseconds = 30_000
    private static let pollMilliseconds = 5

    let name = "sealing-keys"
    let environment: StageEnvironment

    func start(_ context: ServiceContext) async throws {
        let deadline = Instant.now().advanced(byMilliseconds: Self.catalogTimeoutMilliseconds)
        var written: SealingRecord?
        while true {
            if let view = environment.catalog {
                switch SealingKeys.verdict(
                    on: environment.sealingKeys, recorded: view.sealingRecord,
                    now: WallTime.now().milliseconds)
                {
                case .accepted: return
                case .refused(let reason):
                    try restore(view.sealingRecord, over: written, context: context)
                    throw CommandError(status: .configuration, reason)
                case .acceptedWithNewRecord(let record):
                    if written == nil {
                        try makeWriter(context: context).put(record, action: "sealing-keys.use", now: .now())
                        written = record
                        context.log.info("sealing keys are in use", .field("key", record.newestKeyNumber))
                    }
                }
            }
            guard Instant.now() < deadline else {
                throw CommandError(
                    status: .unavailable,
                    "the catalog was not read within \(Self.catalogTimeoutMilliseconds / 1000) s, so the sealing keys could not be checked"
                )
            }
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
    }

    /// Writes the other process's record again. Two processes were first at the same time, and the other's
    /// record came before ours. That record must also be the one that compaction keeps.
    private func restore(
        _ standing: SealingRecord?, over written: SealingRecord?, context: ServiceContext
    ) throws {
        guard written != nil, let standing else { return }
        try makeWriter(context: context).put(standing, action: "sealing-keys.keep", now: .now())
    }

    private func makeWriter(context: ServiceContext) throws -> CatalogWriter {
        try CatalogWriter(
            environment.cluster.settings, catalog: environment.layout.name(of: .catalog),
            audit: environment.layout.name(of: .audit), author: "flotilla", metrics: context.metrics)
    }

    func stop(by deadline: Instant) async {}
}
