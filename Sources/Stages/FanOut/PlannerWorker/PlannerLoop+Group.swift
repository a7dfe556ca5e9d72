internal import Kafka
internal import LiveActivity
internal import StageSupport
internal import Telemetry
internal import Topics

extension PlannerLoop: GroupMemberOwner {
    func topicPartition(_ partition: Int32, of topic: PlannedTopic) -> TopicPartition {
        TopicPartition(layout.name(topic.name), partition)
    }

    func assigned(_ numbers: [Int32]) {
        held.keep(numbers)
        views.keep(numbers)
        onStep(.assigned)
    }

    func letGo() throws {
        try views.letGo()
        walk = GroupWalk()
    }

    func isReadyToBegin(_ numbers: [Int32]) throws -> Bool {
        guard views.blockage == nil, apps.isReady else { return false }
        return try views.openNext(of: numbers)
    }

    func begin(_ numbers: [Int32], followed: [CommittedOffset]) throws { try views.begin(numbers) }

    func flows(_ partition: Int32) {
        if member.owned[partition]?.isWalked == false { walk.begin(partition) }
        onStep(.restored)
    }
}

extension PlannerLoop: TopicViewsOwner {
    /// The time of this machine. It only decides the age of files. A file that looks too old is rebuilt. A
    /// file that looks too young may contain too many rows, but these are too old for any send
    /// (`GroupRow.isKept`).
    var decisionTime: Int64 { wall().milliseconds }

    func startOverLater() { member.startOverLater() }

    func reached(_ step: TopicViews.Step) { onStep(step == .opened ? .viewOpened : .viewSettled) }

    func readViews(waitMilliseconds: Int32) throws {
        for partition in try views.read(waitMilliseconds: waitMilliseconds) { member.serve(partition) }
    }
}
