import Identifiers
import IngestTesting
import Jobs
import Kafka
import KafkaTesting
import Payloads
import RecordFormat
import Replay
import Sends
import Telemetry
import Topics

/// A test bed for replays: the topics of one test on a cluster, writers for the records that stages and killed calls would
/// have written, and the calls of a replay. No stage runs.
struct ReplayStand {
    static let lanes = 2
    /// A busy time that is over at once: a call takes over the dead letters of an unfinished call, even in the same
    /// millisecond.
    static let elapsedBusyTime: Int64 = -1

    private let cluster: TestCluster
    let bed: TestBed
    private let producer: Producer
    /// The time of the test's start, in milliseconds since 1970.
    let now = WallTime.now().milliseconds

    init() throws {
        cluster = try TestCluster()
        bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
        producer = try Producer(settings: bed.settings, name: "stages", log: .silent, metrics: Metrics())
    }

    var deadLetters: DeadLetterTopic { DeadLetterTopic(settings: bed.settings, layout: bed.layout) }

    // MARK: Writing

    /// Writes a record, and returns its offset.
    @discardableResult
    func write(
        _ value: [UInt8]?, to topic: TopicName, lane: Int32, key: [UInt8]? = nil,
        headers: [(String, [UInt8])] = []
    ) throws -> Int64 {
        let kafkaTopic = try producer.topic(named: bed.layout.name(of: topic))
        var recordHeaders = RecordHeaders(capacity: headers.count)
        for (name, value) in headers { recordHeaders.add(named: Array(name.utf8).span, value: value.span) }
        let result = producer.send(
            to: kafkaTopic, partition: lane, key: key?.span, value: value?.span, headers: &recordHeaders,
            tag: 1)
        precondition(result == .queued)
        var deliveries: [Delivery] = []
        _ = producer.flush(withinMilliseconds: 30_000, into: &deliveries)
        guard deliveries.count == 1, case .stored(let offset) = deliveries[0].outcome else {
            preconditionFailure("the record was not stored: \(deliveries)")
        }
        return offset
    }

    /// Returns the head of a sheet. The generation is 3.
    func head(
        _ event: PushEvent = .update, version: Int64 = 5, group: String = "m1", app: String = "shop",
        send: String = "s1", deadlineIn seconds: Int64 = 3_600
    ) -> SheetHead {
        SheetHead(
            topic: "com.example.shop.push-type.liveactivity", priority: .immediate,
            expiration: now / 1000 + seconds,
            app: app, environment: .production, send: send, group: group, scope: .group, generation: 3,
            version: version, event: event, deadline: now / 1000 + seconds, acceptedAt: now - 1_000)
    }

    /// Returns the headers of a sheet with a job for each phone. Phone 2 is the installation `i2` of the user `u2`, and
    /// shows the activity `a2`.
    func sheetHeaders(_ head: SheetHead, to phones: Range<Int>) -> [(String, [UInt8])] {
        var lines = JobLines()
        for phone in phones {
            lines.append(
                token: Array("00aabb\(phone)".utf8).span, installation: Array("i\(phone)".utf8).span,
                entry: Array(head.event == .start ? "start:Match".utf8 : "update:a\(phone)".utf8).span,
                recipient: Array("u:u\(phone)".utf8).span)
        }
        return [
            ("apns", head.apnsLines), ("flotilla", head.flotillaLines), ("to", lines.bytes),
        ]
    }

    /// The body of every sheet.
    static let body = Array(#"{"aps":{}}"#.utf8)

    /// Writes a dead letter of the sender: a sheet whose jobs were tried four times.
    @discardableResult
    func writeDeadLetter(
        of head: SheetHead, to phones: Range<Int>, lane: Int32 = 0, code: String = "attempts_exhausted"
    ) throws -> DeadLetterID {
        let origin = SheetOrigin(
            topic: "jobs", partition: lane, offset: 7, lines: LineSet(all: phones.count), attempt: 4,
            earlierTries: 6,
            dueAt: 0, reason: "InternalServerError")
        return try writeDeadLetter(
            from: .jobsLater2m, lane: lane, stage: "sender", code: code, value: Self.body,
            headers: sheetHeaders(head, to: phones) + [("origin", origin.headerValue)])
    }

    /// Writes a dead letter of any stage, as if it had rejected a record of the topic at offset 9.
    @discardableResult
    func writeDeadLetter(
        from topic: TopicName, lane: Int32, stage: String, code: String, key: [UInt8]? = nil,
        value: [UInt8]?, headers: [(String, [UInt8])] = [], writtenAt: Int64? = nil
    ) throws -> DeadLetterID {
        let letter = DeadLetter(
            stage: stage, code: code, reason: "in words", topic: bed.layout.name(of: topic), partition: lane,
            offset: 9, writtenAt: writtenAt ?? now - 1_000, rejectedAt: now)
        let allHeaders = headers + letter.headers.map { ($0.name.rawValue, Array($0.value.utf8)) }
        let offset = try write(value, to: .deadLetters, lane: lane, key: key, headers: allHeaders)
        return DeadLetterID(partition: lane, offset: offset)
    }

    /// Writes a mark: what a call did with dead letters or jobs.
    func writeMark(_ mark: DeadLetterMark, lane: Int32) throws {
        try write(
            mark.encoded(), to: .deadLetters, lane: lane,
            headers: [(DeadLetterMark.header.description, Array("1".utf8))])
    }

    // MARK: Calls

    func filter(_ change: (inout DeadLetterFilter) -> Void = { _ in }) -> DeadLetterFilter {
        var filter = DeadLetterFilter()
        change(&filter)
        return filter
    }

    /// Returns a call of redrive.
    ///
    /// - Parameters:
    ///   - run: The name of the call.
    ///   - busyMilliseconds: The time for which the dead letters of another unfinished call are left alone.
    func redrive(
        _ filter: DeadLetterFilter = DeadLetterFilter(), run: String = "r1",
        busyMilliseconds: Int64 = ReplayStand.elapsedBusyTime
    ) -> Redrive {
        Redrive(
            deadLetters: deadLetters, filter: filter, author: "tester", run: run,
            busyMilliseconds: busyMilliseconds)
    }

    /// Makes a call of redrive and executes it.
    @discardableResult
    func executeRedrive(_ filter: DeadLetterFilter = DeadLetterFilter(), run: String = "r1") throws
        -> Redrive.Tally
    {
        try redrive(filter, run: run).execute { _ in }
    }

    /// Returns a call of resend. The parameters are those of `redrive`.
    func resend(
        _ send: String = "s1", app: String = "shop", withUnknownStarts: Bool = false, run: String = "r1",
        busyMilliseconds: Int64 = ReplayStand.elapsedBusyTime
    ) -> Resend {
        Resend(
            deadLetters: deadLetters, send: send, of: app, withUnknownStarts: withUnknownStarts,
            author: "tester",
            run: run,
            busyMilliseconds: busyMilliseconds)
    }

    /// Returns all records of a topic.
    func records(of topic: TopicName) throws -> [ReadRecord] { try TopicContent(of: topic, in: bed).records }

    /// Returns the state of each dead letter.
    func states() throws -> [DeadLetterJournal.DeadLetterState] {
        var states: [DeadLetterJournal.DeadLetterState] = []
        try deadLetters.forEach(matching: DeadLetterFilter()) { _, state in states.append(state) }
        return states
    }
}

extension ReplayStand {
    /// Returns the partition that Kafka's default partitioner chooses.
    func partition(of key: [UInt8]) -> Int { Murmur2.partition(forKey: key.span, partitionCount: Self.lanes) }
}
