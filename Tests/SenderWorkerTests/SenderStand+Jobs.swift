import Identifiers
import IngestTesting
import JSON
import Jobs
import Kafka
import Payloads
import RecordFormat
import Sends
import Telemetry
import TokenSealing
import Topics

/// A job by its first position and its line.
struct WrittenJob: Hashable {
    let position: JobPosition
    let line: Int
}

/// The records that the fan-out would write, and the outcomes that the sender wrote for them.
extension SenderStand {
    /// The deadline of a send, after now. No test takes that long.
    private static let lifetimeSeconds: Int64 = 3_600
    /// The limit of the wait for one record. Even a busy cluster stores it sooner.
    private static let flushMillisecondsMax = 30_000

    /// Returns the head of a sheet: the part of a send that all of its jobs share.
    func sheetHead(
        _ event: PushEvent, version: Int64 = 1, group: String = "m1", of app: TestApp = .shop,
        in environment: Environment = .production
    ) -> SheetHead {
        let now = WallTime.now().milliseconds
        let deadline = now / 1000 + Self.lifetimeSeconds
        return SheetHead(
            topic: app.bundleID + ".push-type.liveactivity", priority: .immediate, expiration: deadline,
            app: app.id, environment: environment, send: "s\(version)", group: group, scope: .group,
            generation: 0, version: version, event: event, deadline: deadline, acceptedAt: now)
    }

    /// Writes a sheet of jobs to phones with these numbers, and waits until it is stored.
    ///
    /// - Parameters:
    ///   - areKnown: Whether APNs knows the phones' tokens.
    ///   - areProven: Whether APNs has accepted the tokens before, according to the sheet.
    ///   - seal: The seal of the tokens, or nil for tokens in clear text.
    func write(
        _ head: SheetHead, to phones: Range<Int>, lane: Int32, in topicName: TopicName = .jobs,
        areKnown: Bool = true, areProven: Bool = true, sealedBy seal: TokenSeal? = nil
    ) throws {
        let lines = Self.lines(of: head, to: phones, areKnown: areKnown, sealedBy: seal)
        var headers = RecordHeaders(capacity: 4)
        headers.add(SheetHeaderName.apns, value: head.apnsLines.span)
        headers.add(SheetHeaderName.flotilla, value: head.flotillaLines.span)
        headers.add(SheetHeaderName.to, value: lines.bytes.span)
        let unproven = areProven ? LineSet() : LineSet(all: lines.count)
        if let value = UnprovenLines.headerValue(of: unproven) {
            headers.add(SheetHeaderName.unproven, value: value.span)
        }
        let topic = try producer.topic(named: bed.layout.name(of: topicName))
        let result = producer.send(
            to: topic, partition: lane, key: nil, value: Self.body(of: head).span, headers: &headers, tag: 1)
        precondition(result == .queued)
        waitUntilStored()
    }

    /// Writes a note: a record of `superseded` that tells all senders the newest versions of a group. It waits until
    /// the note is stored.
    func write(_ note: SupersededVersions) throws {
        let topic = try producer.topic(named: bed.layout.name(of: .superseded))
        let result = producer.send(
            to: topic, partition: 0, key: note.key.span, value: note.encoded().span, tag: 1)
        precondition(result == .queued)
        waitUntilStored()
    }

    private func waitUntilStored() {
        var deliveries: [Delivery] = []
        _ = producer.flush(withinMilliseconds: Self.flushMillisecondsMax, into: &deliveries)
        precondition(deliveries.allSatisfy(\.isStored))
    }

    private static func lines(
        of head: SheetHead, to phones: Range<Int>, areKnown: Bool, sealedBy seal: TokenSeal?
    ) -> JobLines {
        var lines = JobLines()
        for phone in phones {
            let entry = head.event == .start ? "start:Match" : "update:a\(phone)"
            var storedToken = token(ofPhone: phone, isKnown: areKnown)
            if let seal, let pushToken = PushToken(hex: storedToken) {
                storedToken = seal.seal(pushToken, app: head.app, entry: entry)
            }
            lines.append(
                token: Array(storedToken.utf8).span, installation: Array("i\(phone)".utf8).span,
                entry: Array(entry.utf8).span, recipient: Array("u:u\(phone)".utf8).span)
        }
        return lines
    }

    /// Returns a token of 64 hex digits that ends with the phone's number.
    private static func token(ofPhone phone: Int, isKnown: Bool) -> String {
        let knownTokenPrefix = "bb"
        let prefix = isKnown ? knownTokenPrefix : KnownTokens.unknownTokenPrefix
        let digits = String(phone)
        return prefix + String(repeating: "0", count: 62 - digits.count) + digits
    }

    /// Returns the payload that all jobs of a sheet share.
    private static func body(of head: SheetHead) -> [UInt8] {
        let startFields =
            head.event == .start
            ? #","attributes-type":"Match","attributes":{},"alert":{"title":"a","body":"b"}"# : ""
        let fields =
            #""timestamp":\#(head.acceptedAt / 1000),"event":"\#(head.event.rawValue)","content-state":{"home":1}"#
        return Array(#"{"aps":{\#(fields)\#(startFields)}}"#.utf8)
    }

    /// Returns the final outcomes of each job in `receipts`. A job without a fault has exactly one.
    func finalOutcomes() throws -> [WrittenJob: [ReceiptOutcome]] {
        let reader = JSONReader()
        var outcomes: [WrittenJob: [ReceiptOutcome]] = [:]
        for record in try TopicContent(of: .receipts, in: bed).records {
            // A record without a value is the marker of a takeover.
            guard let value = record.value else { continue }
            let receipt = try Receipt.decode(value, with: reader)
            for part in receipt.parts where part.outcome.isFinal {
                part.lines.forEachLine { line in
                    let job = WrittenJob(position: receipt.position, line: line)
                    outcomes[job, default: []].append(part.outcome)
                }
            }
        }
        return outcomes
    }
}
