internal import InstallationRecords
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Telemetry

// The steps of a transaction with reports, apart from the reports themselves (`IngestDecider+Merge.swift`).

extension IngestDecider {
    /// The numbers of a transaction's reports, by outcome.
    struct OutcomeCounts {
        var merged = 0
        /// Reports that change nothing, or only times that are not written.
        var unchanged = 0
        var rejected = 0
        var forwarded = 0
        /// Claims of start tokens. The process that merged the report of the token wrote them.
        var claims = 0
    }

    func beginTransaction() {
        output.removeAll()
        outcomeCounts = OutcomeCounts()
        pendingClaims.removeAll()
        installationBatches.removeAll()
    }

    var isOutputFull: Bool { output.isFull }
    var outputByteCount: Int { output.byteCount }

    func addChangedRows() {
        for index in installationBatches.indices { installationBatches[index].write(to: &output) }
    }

    func sendOutput(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(
            by: producer, installations: topics[0], registry: topics[1], events: topics[2],
            onStep: stage.reportStep)
    }

    func applyCommittedChanges(at now: Instant) {
        for installations in installationBatches {
            for entry in installations.entries {
                if let recordNumber = entry.recordNumber {
                    stage.views.overlays[installations.partition]?.recordCommit(
                        of: entry.key, as: output.record(number: recordNumber), at: now)
                } else if entry.status == .repeated, let installation = entry.installation {
                    stage.views.overlays[installations.partition]?.recordRepetition(
                        of: entry.key, as: installation.encoded(), at: now)
                }
            }
            for entry in installations.owners.entries {
                guard let recordNumber = entry.recordNumber else { continue }
                stage.views.overlays[installations.partition]?.recordCommit(
                    of: entry.key, as: output.record(number: recordNumber), at: now)
            }
        }
    }

    func publishOutcomes() {
        let counts = output.counts
        stage.metrics.produced(to: "installations").add(counts.installations)
        stage.metrics.produced(to: "registry").add(counts.registry)
        stage.metrics.produced(to: "events").add(counts.events)
        stage.metrics.records(withOutcome: "merged").add(outcomeCounts.merged)
        stage.metrics.records(withOutcome: "unchanged").add(outcomeCounts.unchanged)
        stage.metrics.records(withOutcome: "rejected").add(outcomeCounts.rejected)
        stage.metrics.records(withOutcome: "forwarded").add(outcomeCounts.forwarded)
        stage.metrics.records(withOutcome: "claim").add(outcomeCounts.claims)
        metrics.forwardedReports.add(outcomeCounts.forwarded)
    }
}
