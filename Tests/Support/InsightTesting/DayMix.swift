internal import Kafka
internal import LiveActivity
internal import Simulation
internal import Telemetry
package import Topics

/// One record of a random day, in the form that a stage writes.
package struct DayRecord: Sendable {
    package var topic: TopicName
    /// The partition, or nil if the key decides.
    package var partition: Int32?
    package var key: [UInt8]?
    /// The value, or nil for a tombstone.
    package var value: [UInt8]?
    /// The header `to` of a receipt.
    package var addressees: [UInt8] = []
}

/// The records of a random day: two apps, people with two phones each, groups and sends, and everything that
/// stages write about them. The order is random, and some records are repeated.
package struct DayMix: Sendable {
    package static let apps = ["shop", "bank"]
    package static let groups = 20
    package static let sends = 120
    /// The number of sheets with unfinished jobs.
    private static let openSheets = 60
    private static let jobsMax = 12

    private struct OpenSheet {
        var place: JobPosition
        var send: Int
        var environment: Environment
        var lane: Int
        var people: [Int]
    }

    /// The beginning of an hour a day ago, in milliseconds since 1970.
    package let begin: Int64
    package let people: Int
    private let lanes: Int
    /// The people by app and lane.
    private let peopleOfLane: [[[Int]]]
    private var numbers: SeededGenerator
    private var sheets: [OpenSheet] = []
    private var sheetsMade: Int64 = 0

    /// - Parameter people: The number of people in each app.
    package init(seed: UInt64, lanes: Int, people: Int) {
        numbers = SeededGenerator(seed)
        (self.lanes, self.people) = (lanes, people)
        begin = (WallTime.now().milliseconds / 3_600_000 - 26) * 3_600_000
        peopleOfLane = Self.apps.map { app in
            var all = Array(repeating: [Int](), count: lanes)
            for person in 0..<people {
                let key = RegistryKey.partitionKey(app: app, recipient: .user(Self.user(person)))
                all[Murmur2.partition(forKey: key.span, partitionCount: lanes)].append(person)
            }
            return all
        }
    }

    package static func user(_ person: Int) -> String { "user-\(person)" }
    package static func phone(_ person: Int, _ which: Int) -> String { "phone-\(person)-\(which)" }
    /// Returns the system of the phone, or nil if the phone has not reported it.
    static func system(_ person: Int) -> Int? { person % 4 == 0 ? nil : 17 + person % 3 }
    package static func group(_ number: Int) -> String { "match-\(number)" }
    package static func send(_ number: Int) -> String { "send-\(number)" }
    package static func app(ofSend number: Int) -> String { apps[number % apps.count] }
    package static func group(ofSend number: Int) -> String? {
        number % 7 == 0 ? nil : group(number / 2 % groups)
    }

    package func acceptedAt(_ send: Int) -> Int64 { begin + Int64(send) * 600_000 }

    package mutating func next() -> DayRecord {
        switch numbers.below(100) {
        case 0..<45: event()
        case 45..<80: receipt()
        case 80..<91: installation()
        case 91..<95: progress()
        case 95..<97: group()
        case 97..<99: timer()
        default: audit()
        }
    }

    private mutating func app() -> String { Self.apps[numbers.below(Self.apps.count)] }

    private mutating func time() -> Int64 { begin + Int64(numbers.below(86_400_000)) }

    // MARK: Receipts

    private mutating func receipt() -> DayRecord {
        if sheets.count < Self.openSheets || numbers.below(4) == 0 { open() }
        let sheet = sheets[numbers.below(sheets.count)]
        let send = sheet.send
        let head = SheetHead(
            topic: "com.example.push-type.liveactivity", priority: 10, expiration: 0,
            app: Self.app(ofSend: send), environment: sheet.environment, send: Self.send(send),
            group: Self.group(ofSend: send), scope: .group, generation: 1, version: Int64(send) + 1,
            event: send % 10 == 1 ? .start : .update, deadline: 1_900_000_000, acceptedAt: acceptedAt(send))
        let parts = parts(sheet.people.count)
        let at = acceptedAt(send) + Int64(numbers.below(90_000))
        let receipt = Receipt(
            head, at: sheet.place, attempt: 1 + numbers.below(3), writtenAt: at, parts: parts)
        var lines: [UInt8] = []
        if parts.contains(where: { $0.outcome.isFinal || $0.outcome == .moved }) {
            for line in parts.flatMap({ $0.lines.ranges.flatMap(Array.init) }).sorted() {
                let person = sheet.people[line]
                let phone = Self.phone(person, line % 2)
                let system = Self.system(person).map { "\t\($0)" } ?? ""
                lines += Array("\(phone)\tupdate:a-\(phone)\tu:\(Self.user(person))\(system)\n".utf8)
            }
        }
        return DayRecord(
            topic: .receipts, partition: Int32(sheet.lane), key: nil, value: receipt.encoded(),
            addressees: lines)
    }

    private mutating func open() {
        let send = numbers.below(Self.sends)
        let lane = numbers.below(lanes)
        let there = peopleOfLane[send % Self.apps.count][lane]
        if there.isEmpty { return }
        sheetsMade += 1
        let topic = numbers.below(10) == 0 ? "jobs.urgent" : "jobs"
        let sheet = OpenSheet(
            place: JobPosition(topic: topic, partition: Int32(lane), offset: sheetsMade), send: send,
            environment: numbers.below(5) == 0 ? .sandbox : .production, lane: lane,
            people: (0..<1 + numbers.below(Self.jobsMax)).map { _ in there[numbers.below(there.count)] })
        if sheets.count < Self.openSheets {
            sheets.append(sheet)
        } else {
            sheets[numbers.below(sheets.count)] = sheet
        }
    }

    private static let outcomes: [(ReceiptOutcome, Int?, String?)] = [
        (.accepted, 200, nil), (.accepted, 200, nil), (.accepted, 200, nil),
        (.rejected, 400, "BadDeviceToken"),
        (.rejected, 410, "Unregistered"), (.superseded, nil, nil), (.superseded, nil, "cancelled"),
        (.expired, nil, nil), (.unknown, nil, "lost"), (.moved, 429, "TooManyRequests"), (.intent, nil, nil),
    ]

    /// Returns parts with some of the lines. Each line is in one part.
    private mutating func parts(_ jobs: Int) -> [Receipt.Part] {
        var sets = Array(repeating: LineSet(), count: Self.outcomes.count)
        for line in 0..<jobs {
            let number = numbers.below(Self.outcomes.count + 3)
            if number < sets.count { sets[number].append(line) }
        }
        if sets.allSatisfy(\.isEmpty) { sets[0].append(0) }
        return zip(Self.outcomes, sets).compactMap { outcome, lines in
            let (what, status, reason) = outcome
            let due = what == .moved ? begin + 90_000_000 : nil
            return lines.isEmpty
                ? nil : Receipt.Part(what, lines: lines, status: status, reason: reason, dueAt: due)
        }
    }

    // MARK: The rest

    private mutating func event() -> DayRecord {
        let person = numbers.below(people)
        let event = Event(
            Event.Code.allCases[numbers.below(Event.Code.allCases.count)], app: app(),
            environment: .production, installation: Self.phone(person, numbers.below(2)),
            user: numbers.below(4) > 0 ? Self.user(person) : nil,
            attributesType: numbers.below(3) == 0 ? nil : "Match",
            group: numbers.below(2) == 0 ? nil : Self.group(numbers.below(Self.groups)), eventTime: time(),
            receivedAt: begin + 86_400_000)
        return DayRecord(topic: .events, key: event.key, value: event.encoded())
    }

    private mutating func installation() -> DayRecord {
        let person = numbers.below(people)
        let id = Self.phone(person, numbers.below(2))
        var phone = Installation(app: app(), subject: .installation(id))
        if numbers.below(20) == 0 { return DayRecord(topic: .installations, key: phone.key, value: nil) }
        let at = time()
        let said = ReportTime(event: at, received: at)
        if numbers.below(10) > 0 { phone.user = Timestamped(.user(Self.user(person)), at: said) }
        phone.environment = Timestamped(.production, at: said)
        phone.os = Timestamped("18.\(numbers.below(5))", at: said)
        phone.startTokens = [
            .init(
                type: "Match", token: .init(hash: "aa11", sealed: "00ff", environment: .production, at: said))
        ]
        var activity = Installation.Activity(id: "a-\(id)")
        activity.group = Timestamped(Self.group(numbers.below(Self.groups)), at: said)
        activity.lastSeenAt = said
        activity.token = .init(hash: "bb22", sealed: "00ff", environment: .production, at: said)
        switch numbers.below(4) {
        case 0: activity.closing = .init(endedAt: said)
        case 1: activity.isExpired = true
        default: break
        }
        if numbers.below(5) > 0 { phone.activities = [activity] }
        return DayRecord(topic: .installations, key: phone.key, value: phone.encoded())
    }

    private mutating func progress() -> DayRecord {
        let send = numbers.below(Self.sends)
        let app = Self.app(ofSend: send)
        let key =
            Self.group(ofSend: send).map { ScopeKey(app: app, group: $0) }
            ?? ScopeKey(app: app, activity: "a-\(send)")
        var part = ProgressRecord.Part.planner(
            .init(.planned, version: Int64(send) + 1, generation: 1, laneCount: lanes))
        if numbers.below(4) > 0 {
            var tally = LaneTally()
            tally.targeted = numbers.below(5000)
            for _ in 0..<numbers.below(60) { tally.countJob(on: OSVersion(UInt8(17 + numbers.below(3)), 1)) }
            tally.dropped = numbers.below(20)
            tally.excludedByReason = ["no_token": numbers.below(30)]
            let first = numbers.below(lanes)
            part = .lanes(Array(first..<min(lanes, first + 1 + numbers.below(3))), tally)
        }
        let at = acceptedAt(send)
        let record = ProgressRecord(
            send: Self.send(send), key: key, isDryRun: false, acceptedAt: at,
            writtenAt: at + Int64(numbers.below(5000)), part: part)
        return DayRecord(topic: .progress, key: RecordKey.join(Self.send(send)), value: record.encoded())
    }

    private mutating func group() -> DayRecord {
        let key = ScopeKey(app: app(), group: Self.group(numbers.below(Self.groups)))
        if numbers.below(30) == 0 { return DayRecord(topic: .groups, key: key.bytes, value: nil) }
        var row = GroupRow()
        row.generation = 1 + Int64(numbers.below(3))
        row.endVersion = Int64(numbers.below(4))
        row.version = Int64(numbers.below(1000))
        row.updateCount = numbers.below(100)
        row.lastSendAt = time()
        return DayRecord(topic: .groups, key: key.bytes, value: row.encoded())
    }

    private mutating func timer() -> DayRecord {
        let user = Self.user(numbers.below(people))
        let app = app()
        var send = Send(
            id: "later", app: app, group: Self.group(0), audience: .users([user]),
            content: PushContent(.update), priority: 5, acceptedAt: begin)
        send.deadline = begin / 1000 + 900_000
        let row = TimerRow(
            app: app, owner: .recipient(.user(user)), id: "t-\(numbers.below(2))", dueAt: time() + 86_400_000,
            latenessMillisecondsMax: 1000, send: send, commandOffset: 1)
        let isGone = numbers.below(3) == 0
        return DayRecord(
            topic: .timers, partition: Int32(lane(of: user, app)), key: row.key,
            value: isGone ? nil : row.encoded())
    }

    private func lane(of user: String, _ app: String) -> Int {
        Murmur2.partition(
            forKey: RegistryKey.partitionKey(app: app, recipient: .user(user)).span, partitionCount: lanes)
    }

    private mutating func audit() -> DayRecord {
        let entry = AuditEntry(
            at: time(), author: "key-\(numbers.below(9))", action: "send.start", app: app(),
            subject: "s-\(numbers.below(1000))")
        return DayRecord(topic: .audit, key: entry.key, value: entry.encoded())
    }
}
