internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry

extension IngestLoop: TopicViewsOwner {
    /// Installations of which a repetition is known in memory alone; those that a kill makes forget it.
    static let repeatedRowsMax = 10_000

    func reached(_ step: TopicViews.Step) { onStep(step == .opened ? .viewOpened : .viewSettled) }

    func ends(of partition: Kafka.TopicPartition) -> Watermarks? { writer.ends(of: partition) }

    func readViews(waitMilliseconds: Int32) throws {
        for number in try views.read(waitMilliseconds: waitMilliseconds) { finishRestoring(number) }
    }

    private func finishRestoring(_ number: Int32) {
        guard !mustStartOver, let own = owned[number], own.condition == .restoring, resumeReports(number)
        else { return }
        owned[number]?.condition = .serving
        pauseMilliseconds = 0
        metrics.restoreSeconds.observe(Instant.now().seconds(since: own.restoringSince))
        onStep(.restored)
    }

    /// A pause remembers a position of its own, of before; so the right one is set once more behind it.
    private func resumeReports(_ number: Int32) -> Bool {
        let place = Kafka.TopicPartition(reportsTopic, number)
        let committed = owned[number]?.committed
        reportEnds[number] = nil
        reports.resume([place])
        do {
            let start = PartitionStart(place, committed.map { .offset($0) } ?? .beginning)
            try reports.seek([start], withinMilliseconds: Self.askMilliseconds)
            return true
        } catch {
            log.warning("cannot go on with reports now; trying again", .field("error", error))
            startOverLater()
            return false
        }
    }
}
