internal import Kafka
internal import LiveActivity
internal import StageSupport
internal import Telemetry
internal import Topics

extension SchedulerLoop: GroupMemberOwner {
    func topicPartition(_ partition: Int32, of topic: ScheduledTopic) -> TopicPartition {
        TopicPartition(layout.name(topic.name), partition)
    }

    func assigned(_ numbers: [Int32]) {
        views.keep(numbers)
        onStep(.assigned)
    }

    func letGo() throws {
        endsAsked = [:]
        try views.letGo()
    }

    func isReadyToBegin(_ numbers: [Int32]) throws -> Bool {
        guard views.blockage == nil else { return false }
        return try views.openNext(of: numbers)
    }

    func begin(_ numbers: [Int32], followed: [CommittedOffset]) throws {
        try views.begin(numbers)
        // The orders are read again, so an answer to an earlier question proves nothing about them.
        endsAsked = [:]
        for partition in numbers { member.owned[partition]?.forgetTimers() }
    }

    func flows(_ partition: Int32) { onStep(.restored) }
}

extension SchedulerLoop: TopicViewsOwner {
    /// The time of this machine. It only decides the age of files: a file that looks too old is rebuilt.
    var decisionTime: Int64 { wall().milliseconds }

    func startOverLater() { member.startOverLater() }

    func reached(_ step: TopicViews.Step) { onStep(step == .opened ? .viewOpened : .viewSettled) }

    func readViews(waitMilliseconds: Int32) throws {
        for partition in try views.read(waitMilliseconds: waitMilliseconds) { member.serve(partition) }
    }
}
