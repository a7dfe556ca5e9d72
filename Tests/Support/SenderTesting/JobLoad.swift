internal import CatalogRecords
internal import Identifiers
package import IngestTesting
package import Jobs
internal import Payloads
internal import Sends
internal import Telemetry
package import Topics

/// A writer of a load of jobs for a sender: updates of one app to many phones, each with a different token, in sheets
/// over all lanes.
package final class JobLoad {
    private static let lifetimeSeconds: Int64 = 8 * 3_600

    private let writer: JobWriter
    private let app: App
    private let lanes: Int
    private let jobsPerSheet: Int
    private let body: [UInt8]
    /// The lane of the next sheet. The lanes take turns.
    private var lane: Int32 = 0
    /// The lines of the next sheet.
    private var lines = JobLines()
    /// The version of the newest send, in seconds since 1970.
    private var version: Int64 = 1_763_600_000

    /// - Parameter bodyBytes: The size of each push's body.
    package init(on bed: TestBed, bodyBytes: Int, jobsPerSheet: Int) throws {
        writer = try JobWriter(on: bed)
        app = SenderTestApps.apps[0]
        lanes = bed.layout.lanes
        self.jobsPerSheet = jobsPerSheet
        let emptyBody = #"{"aps":{"timestamp":1763600000,"event":"update","content-state":{"goals":""}}}"#
        let padding = String(repeating: "x", count: max(0, bodyBytes - emptyBody.utf8.count))
        body = Array(emptyBody.replacing(#""goals":"""#, with: #""goals":"\#(padding)""#).utf8)
    }

    /// Returns the head of an update to a group.
    package func makeUpdateHead(of group: String) -> SheetHead {
        version += 1
        let now = WallTime.now().milliseconds
        return SheetHead(
            topic: app.bundleID + ".push-type.liveactivity", priority: .immediate,
            expiration: now / 1000 + Self.lifetimeSeconds, app: app.id, environment: .production,
            send: "s\(version)", group: group, scope: .group, generation: 1, version: version, event: .update,
            deadline: now / 1000 + Self.lifetimeSeconds, acceptedAt: now)
    }

    /// Writes jobs for these phones. All sheets except the last are full.
    package func write(_ head: SheetHead, to phones: Range<Int>, topic: TopicName = .jobs) {
        for phone in phones {
            lines.append(TestPhone(number: phone), event: head.event)
            if lines.count == jobsPerSheet { writeSheet(head: head, to: topic) }
        }
        if lines.count > 0 { writeSheet(head: head, to: topic) }
    }

    /// Writes copies of one sheet with these phones. They cost less time than sheets with different phones.
    package func writeCopies(_ count: Int, of head: SheetHead, to phones: Range<Int>) {
        var copiedLines = JobLines()
        for phone in phones { copiedLines.append(TestPhone(number: phone), event: head.event) }
        for _ in 0..<count {
            writer.write(head, lines: copiedLines, body: body, lane: nextLane())
        }
    }

    private func writeSheet(head: SheetHead, to topic: TopicName) {
        writer.write(head, lines: lines, body: body, lane: nextLane(), to: topic)
        lines.removeAll()
    }

    private func nextLane() -> Int32 {
        let next = lane
        lane = (lane + 1) % Int32(lanes)
        return next
    }

    /// Waits for all acknowledgements. Returns whether every sheet is stored.
    package func finish() -> Bool { writer.finish() }
}
