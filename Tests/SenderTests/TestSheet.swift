import Identifiers
import Jobs
import Payloads
import Sends

@testable import Sender

extension SheetRecord {
    /// Returns a sheet with one update to phones of a group.
    static func update(
        of app: String, to phones: String..., in group: String, version: Int64, at time: CurrentTime
    ) throws -> SheetRecord {
        try update(of: app, to: phones, in: group, version: version, at: time)
    }

    static func update(
        of app: String, to phones: [String], in group: String, version: Int64, at time: CurrentTime,
        deadlineSeconds: Int64 = 3_600, unproven: LineSet = LineSet(),
        recipient: (String) -> String = { "i:i\($0)" }
    ) throws -> SheetRecord {
        let head = SheetHead(
            topic: "t.push-type.liveactivity", priority: .immediate, expiration: 0, app: app,
            environment: .production, send: "s\(version)", group: group, scope: .group, generation: 0,
            version: version, event: .update, deadline: time.unixMilliseconds / 1000 + deadlineSeconds,
            acceptedAt: time.unixMilliseconds)
        return try SheetRecord(
            SheetContent(
                body: Array("{}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
                to: Array(
                    phones.map { "00\($0)\ti\($0)\tupdate:a\($0)\t\(recipient($0))\n" }.joined().utf8)),
            origin: nil, unproven: UnprovenLines.headerValue(of: unproven))
    }
}

extension DeliveryPlan {
    /// Commits the metadata of the lanes, so that sheets that were read may leave.
    mutating func commitMetadata(at time: CurrentTime) {
        turn(at: time) { _, _ in .open(capacity: 0) }
        committed(actions.commitNumber, isDone: true, at: time)
        actions.removeAll()
    }
}
