internal import Catalog
internal import Ingest
internal import Kafka
internal import Settings
internal import Store

extension AllSettings {
    static let ingestBatchRecords = Setting(
        "ingest.batch-records", default: 10_000, in: 1...20_000,
        "the most reports that one transaction takes")
    static let ingestBatchWait = Setting(
        "ingest.batch-wait", default: Milliseconds(5), in: Milliseconds(0)...Milliseconds(1000),
        "how long a batch that is not full waits for more reports")
    static let ingestOverlayRows = Setting(
        "ingest.overlay-rows", default: 100_000, in: 1000...10_000_000,
        "installations committed and not yet read back; beyond it reading reports waits")
    static let ingestSweepInterval = Setting(
        "ingest.sweep-interval", default: Milliseconds(3_600_000),
        in: Milliseconds(1000)...Milliseconds(86_400_000),
        "how often every installation is looked at for tokens that have expired")

    static let ingestForgetTokenless = Setting(
        "ingest.forget-tokenless", default: Milliseconds(90 * 86_400_000),
        in: Milliseconds(14 * 86_400_000)...Milliseconds(3650 * 86_400_000),
        "how long an installation is remembered that has no token to start with, after its last word")
    static let ingestForgetDeletedApps = Setting(
        "ingest.forget-deleted-apps", default: Milliseconds(86_400_000),
        in: Milliseconds(60_000)...Milliseconds(365 * 86_400_000),
        "how long the installations of an app are kept that is not in the catalogue any more")

    static let ingest: [Declaration] = [
        ingestBatchRecords.declaration, ingestBatchWait.declaration, ingestOverlayRows.declaration,
        ingestSweepInterval.declaration, ingestForgetTokenless.declaration,
        ingestForgetDeletedApps.declaration,
    ]
}

extension StageKind {
    static let ingest = StageKind(
        name: "ingest", summary: "merges what phones report into who can be reached",
        topics: IngestService.topics
    ) { surroundings in
        var settings = IngestSettings()
        settings.batchRecordsMax = surroundings.settings[AllSettings.ingestBatchRecords]
        settings.batchMilliseconds = surroundings.settings[AllSettings.ingestBatchWait].count
        settings.overlayRowsMax = surroundings.settings[AllSettings.ingestOverlayRows]
        settings.sweepMilliseconds = surroundings.settings[AllSettings.ingestSweepInterval].count
        settings.tokenlessMilliseconds = Int64(surroundings.settings[AllSettings.ingestForgetTokenless].count)
        settings.deletedAppMilliseconds = surroundings.settings[AllSettings.ingestForgetDeletedApps].count
        let catalog = surroundings.catalog
        return IngestService(settings) {
            IngestPlace(
                kafka: surroundings.kafka(), layout: surroundings.layout,
                identity: surroundings.slot.identity(stage: "ingest", loop: 0),
                stateDirectory: surroundings.slot.path + "/ingest", sealingKeys: surroundings.sealingKeys,
                apps: { catalog.view?.apps })
        }
    }
}
