internal import Catalog
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import TokenSealing
internal import Topics

/// A check in the form of a service: its start fails if this process has other sealing keys than the
/// installation. The first process writes the fingerprints of its keys to the catalog, as a `SealingRecord`,
/// and the others compare theirs with it.
struct SealingKeysService: Service {
    /// The limit for reading the catalog and for reading the written record back.
    private static let catalogTimeoutMilliseconds = 30_000
    private static let pollMilliseconds = 5

    let name = "sealing-keys"
    let environment: StageEnvironment

    func start(_ context: ServiceContext) async throws {
        let deadline = Instant.now().advanced(byMilliseconds: Self.catalogTimeoutMilliseconds)
        var ownRecord: SealingRecord?
        while true {
            if let catalog = environment.catalog {
                switch SealingKeys.verdict(
                    on: environment.sealingKeys, recorded: catalog.sealingRecord,
                    now: WallTime.now().milliseconds)
                {
                case .accepted: return
                case .refused(let reason):
                    try restore(catalog.sealingRecord, over: ownRecord, context: context)
                    throw CommandError(status: .configuration, reason)
                case .acceptedWithNewRecord(let record):
                    // Written once. The next rounds wait until the catalog has it, or the record of another process.
                    if ownRecord == nil {
                        try makeWriter(context: context).put(record, action: "sealing-keys.use", now: .now())
                        ownRecord = record
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

    /// Writes the record of another process again if this process has written over it: both started at the same time,
    /// and the other record came first. Compaction keeps only the last record, so the last one must be the other's.
    private func restore(
        _ otherRecord: SealingRecord?, over ownRecord: SealingRecord?, context: ServiceContext
    ) throws {
        guard ownRecord != nil, let otherRecord else { return }
        try makeWriter(context: context).put(otherRecord, action: "sealing-keys.keep", now: .now())
    }

    private func makeWriter(context: ServiceContext) throws -> CatalogWriter {
        try CatalogWriter(
            environment.cluster.settings, catalog: environment.layout.name(of: .catalog),
            audit: environment.layout.name(of: .audit), author: "flotilla", metrics: context.metrics)
    }

    func stop(by deadline: Instant) async {}
}
