internal import Kafka
internal import StageSupport

extension IngestLoop: GroupMemberOwner {
    func assigned(_ numbers: [Int32]) {
        clockCheck.keep(numbers)
        views.keep(numbers)
        onStep(.assigned)
    }

    func letGo() throws { try views.letGo() }

    func isReadyToBegin(_ numbers: [Int32]) throws -> Bool {
        guard views.blockage == nil, wrongClock == nil, merges.isReady else { return false }
        return try views.openNext(of: numbers)
    }

    func begin(_ numbers: [Int32], followed: [CommittedOffset]) throws {
        askForYoungReports(numbers.map { TopicPartition(reportsTopic, $0) })
        try views.begin(numbers)
    }

    func flows(_ partition: Int32) {
        reportEnds[partition] = nil
        onStep(.restored)
    }
}
