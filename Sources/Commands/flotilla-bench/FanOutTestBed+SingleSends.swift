internal import JSON
internal import Lifecycle
internal import Payloads

extension FanOutTestBed {
    /// Sends to the owner of a private group. Returns the seconds until the job was visible.
    func measureSingleSend(to user: String, group: String, state: RawJSON, visibleIn urgent: TopicWatch)
        throws -> Double
    {
        let start = Instant.now()
        send(.update, to: group, state: state, owner: user)
        try flushSends()
        while urgent.poll(waitMilliseconds: 100, forEach: { _ in }) == 0 {
            try checkStageIsRunning()
            if Instant.now().seconds(since: start) > 300 { throw BenchmarkFailure("a job was lost") }
        }
        return Instant.now().seconds(since: start)
    }

    /// Waits until each lane has made a job, for the users `user-0`, `user-1` … who have an activity in a
    /// private group.
    func waitForLanes(group: String, users: Int, visibleIn urgent: TopicWatch, state: RawJSON) throws {
        var lanes = Set<Int32>()
        for user in (0..<users).map({ "user-\($0)" }) where lanes.insert(lane(of: user)).inserted {
            _ = try measureSingleSend(to: user, group: group, state: state, visibleIn: urgent)
        }
    }
}
