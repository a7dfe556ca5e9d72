internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

extension IngestLoop: TopicViewsOwner {
    /// The maximum number of installations whose repetition is only in memory. A kill loses these
    /// repetitions.
    static let repeatedRowsMax = 10_000

    func startOverLater() { member.startOverLater() }

    func reached(_ step: TopicViews.Step) { onStep(step == .opened ? .viewOpened : .viewSettled) }

    func readViews(waitMilliseconds: Int32) throws {
        for partition in try views.read(waitMilliseconds: waitMilliseconds) { member.serve(partition) }
    }
}
