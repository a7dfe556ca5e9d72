import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends

@testable import Sender

extension CurrentTime {
    /// The time at which the tests of plans start.
    static let testStart = CurrentTime(
        now: Instant(nanoseconds: 1_000_000_000_000), unixMilliseconds: 1_763_600_000_000)

    /// Moves both clocks.
    mutating func advance(byMilliseconds milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        unixMilliseconds += Int64(milliseconds)
    }
}

extension LaneStart {
    /// Makes the start of a lane with offset 0 and the same metadata in all topics.
    init(lane: Int32, metadata: CommitMetadata?) {
        self.init(
            lane: lane,
            partitions: JobTopic.allCases.map { _ in LanePartitionStart(base: 0, metadata: metadata) })
    }
}

extension CommitMetadata {
    /// The metadata of an owner that gave the lane back in order, without receipts.
    static func returnedInOrder(window: Int64 = 1_000) -> CommitMetadata {
        CommitMetadata(receiptsFrom: 0, window: window, endedAt: 0)
    }
}

extension SheetRecord {
    /// Returns a sheet with one update to phones of a group.
    static func update(
        of app: String, to phones: String..., in group: String, version: Int64, at time: CurrentTime
    ) throws -> SheetRecord {
        try update(of: app, to: phones, in: group, version: version, at: time)
    }

    static func update(
        of app: String, to phones: [String], in group: String, version: Int64, at time: CurrentTime,
        deadlineSeconds: Int64 = 3_600, unproven: LineSet = LineSet(), event: PushEvent = .update,
        recipient: (String) -> String = { "i:i\($0)" }
    ) throws -> SheetRecord {
        let head = SheetHead(
            topic: "t.push-type.liveactivity", priority: .immediate, expiration: 0, app: app,
            environment: .production, send: "s\(version)", group: group, scope: .group, generation: 0,
            version: version, event: event, deadline: time.unixMilliseconds / 1000 + deadlineSeconds,
            acceptedAt: time.unixMilliseconds)
        let lines = phones.map { phone in
            let target = event == .start ? "start:T" : "update:a\(phone)"
            return "00\(phone)\ti\(phone)\t\(target)\t\(recipient(phone))\n"
        }
        return try SheetRecord(
            SheetContent(
                body: Array("{}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
                to: Array(lines.joined().utf8)),
            origin: nil, unproven: UnprovenLines.headerValue(of: unproven))
    }
}

extension DeliveryPlan {
    /// Commits the metadata of the lanes, so that sheets that were read may leave.
    mutating func commitMetadata(at time: CurrentTime) {
        step(at: time) { _, _ in .open(capacity: 0) }
        committed(actions.commitNumber, isAccepted: true, at: time)
        actions.removeAll()
    }
}
