import LiveActivity

@testable import Sender

extension SheetRecord {
    /// Returns a sheet with one update to phones of a group.
    static func update(
        of app: String, to phones: String..., in group: String, version: Int64, at moment: Moment
    ) throws -> SheetRecord {
        try update(of: app, to: phones, in: group, version: version, at: moment)
    }

    static func update(
        of app: String, to phones: [String], in group: String, version: Int64, at moment: Moment,
        deadlineSeconds: Int64 = 3_600
    ) throws -> SheetRecord {
        let head = SheetHead(
            topic: "t.push-type.liveactivity", priority: 10, expiration: 0, app: app,
            environment: .production, send: "s\(version)", group: group, scope: .group, generation: 0,
            version: version, event: .update, deadline: moment.wall / 1000 + deadlineSeconds,
            acceptedAt: moment.wall)
        return try SheetRecord(
            SheetContent(
                body: Array("{}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
                to: Array(
                    phones.map { "00\ti\($0)\tupdate:a\($0)\ti:i\($0)\n" }.joined().utf8)), origin: nil)
    }
}

extension SenderCore {
    /// Commits the note on the lanes, so that sheets that were read may leave.
    mutating func leaveWord(_ moment: Moment) {
        turn(moment) { _, _ in .open(room: 0) }
        committed(orders.commitNumber, isDone: true, moment)
        orders.removeAll()
    }
}
