import LiveActivity

@testable import Sender

extension SheetRecord {
    /// One update to one phone of a group.
    static func update(
        of app: String, to phone: String, in group: String, version: Int64, at moment: Moment
    ) throws -> SheetRecord {
        let head = SheetHead(
            topic: "t.push-type.liveactivity", priority: 10, expiration: 0, app: app,
            environment: .production, send: "s\(version)", group: group, scope: .group, generation: 0,
            version: version, event: .update, deadline: moment.wall / 1000 + 3_600, acceptedAt: moment.wall)
        return try SheetRecord(
            SheetContent(
                body: Array("{}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
                to: Array("00\ti\(phone)\tupdate:a\(phone)\ti:i\(phone)\n".utf8)), origin: nil)
    }
}
