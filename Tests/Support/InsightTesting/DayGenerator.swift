internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Kafka
internal import Payloads
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Simulation
internal import Telemetry
package import Topics

/// A record of a random day, with the bytes that a stage would write. `DayWriter` writes it to its topic.
package struct DayRecord: Sendable {
    package var topic: TopicName
    /// The partition, or nil if the key decides.
    package var partition: Int32?
    package var key: [UInt8]?
    /// The value, or nil for a tombstone.
    package var value: [UInt8]?
    /// The header `to` of a receipt: a line for each job that the receipt names.
    package var addressees: [UInt8] = []
}

/// A generator of the records of a random day: two apps, people with two phones each, groups and sends, and the records
/// that stages write about them. The order is random, and the same job or phone comes several times.
///
/// The ids of people, groups and sends are made from their numbers, so that `DayChecker` can ask about each of them.
package struct DayGenerator: Sendable {
    package static let apps = ["shop", "bank"]
    package static let groupCount = 20
    package static let sendCount = 120
    /// The number of sheets that may get further receipts.
    private static let openSheetsMax = 60
    private static let jobsPerSheetMax = 12

    private static let hourMilliseconds: Int64 = 3_600_000
    private static let dayMilliseconds = 86_400_000
    /// The time between the acceptances of two sends: 120 sends in 20 hours.
    private static let sendIntervalMilliseconds: Int64 = 600_000
    /// In seconds since 1970, in the year 2030: no send of the day expires.
    private static let sendDeadline: Int64 = 1_900_000_000

    /// A sheet of jobs that may get a receipt again.
    private struct OpenSheet {
        var position: JobPosition
        /// The number of the send.
        var send: Int
        var environment: Environment
        var lane: Int
        /// The person of each line.
        var people: [Int]
    }

    /// The beginning of an hour, 26 hours ago, in milliseconds since 1970. So the whole day is in the past.
    package let dayStart: Int64
    /// The number of people in each app.
    package let peopleCount: Int
    private let lanes: Int
    /// The people by app, then by lane.
    private let peopleOfLane: [[[Int]]]
    private var random: SeededGenerator
    private var openSheets: [OpenSheet] = []
    private var sheetCount: Int64 = 0

    /// - Parameter people: The number of people in each app.
    package init(seed: UInt64, lanes: Int, people: Int) {
        random = SeededGenerator(seed: seed)
        (self.lanes, self.peopleCount) = (lanes, people)
        dayStart = (WallTime.now().milliseconds / Self.hourMilliseconds - 26) * Self.hourMilliseconds
        peopleOfLane = Self.apps.map { app in
            var peopleByLane = Array(repeating: [Int](), count: lanes)
            for person in 0..<people {
                let key = RegistryKey.partitionKey(app: app, recipient: .user(Self.userID(ofPerson: person)))
                peopleByLane[Murmur2.partition(forKey: key.span, partitionCount: lanes)].append(person)
            }
            return peopleByLane
        }
    }

    // MARK: Names and times

    package static func userID(ofPerson person: Int) -> String { "user-\(person)" }
    /// - Parameter number: 0 or 1, because a person has two phones.
    package static func phoneID(ofPerson person: Int, number: Int) -> String {
        "phone-\(person)-\(number)"
    }
    /// Returns the major version of a person's iOS, or nil if the phone has not reported it.
    static func systemVersion(ofPerson person: Int) -> Int? { person % 4 == 0 ? nil : 17 + person % 3 }
    package static func groupID(number: Int) -> String { "match-\(number)" }
    package static func sendID(number: Int) -> String { "send-\(number)" }
    package static func app(ofSend number: Int) -> String { apps[number % apps.count] }
    /// Returns the group of a send. One send in seven has none.
    package static func groupID(ofSend number: Int) -> String? {
        number % 7 == 0 ? nil : groupID(number: number / 2 % groupCount)
    }

    /// Returns the time at which a send was accepted, in milliseconds since 1970.
    package func acceptedAt(send: Int) -> Int64 { dayStart + Int64(send) * Self.sendIntervalMilliseconds }

    // MARK: Records

    /// Returns another random record of the day.
    package mutating func next() -> DayRecord {
        // The percentages of the kinds of records.
        switch random.number(below: 100) {
        case 0..<45: makeEvent()
        case 45..<80: makeReceipt()
        case 80..<91: makeInstallation()
        case 91..<95: makeProgress()
        case 95..<97: makeGroup()
        case 97..<99: makeTimer()
        default: makeAuditEntry()
        }
    }

    private mutating func randomApp() -> String { Self.apps[random.number(below: Self.apps.count)] }

    private mutating func randomTime() -> Int64 {
        dayStart + Int64(random.number(below: Self.dayMilliseconds))
    }

    // MARK: Receipts

    private mutating func makeReceipt() -> DayRecord {
        if openSheets.count < Self.openSheetsMax || random.number(below: 4) == 0 { openSheet() }
        let sheet = openSheets[random.number(below: openSheets.count)]
        let send = sheet.send
        // One send in ten is a start.
        let event: PushEvent = send % 10 == 1 ? .start : .update
        let head = SheetHead(
            topic: "com.example.push-type.liveactivity", priority: .immediate, expiration: 0,
            app: Self.app(ofSend: send), environment: sheet.environment, send: Self.sendID(number: send),
            group: Self.groupID(ofSend: send), scope: .group, generation: 1, version: Int64(send) + 1,
            event: event, deadline: Self.sendDeadline, acceptedAt: acceptedAt(send: send))
        let parts = makeParts(jobCount: sheet.people.count)
        let writtenAt = acceptedAt(send: send) + Int64(random.number(below: 90_000))
        let receipt = Receipt(
            head, at: sheet.position, attempt: 1 + random.number(below: 3), writtenAt: writtenAt, parts: parts
        )
        // As in a sender's receipts: other outcomes are not part of a user's history.
        let namesJobs = parts.contains { $0.outcome.isFinal || $0.outcome == .moved }
        return DayRecord(
            topic: .receipts, partition: Int32(sheet.lane), key: nil, value: receipt.encoded(),
            addressees: namesJobs ? Self.addressees(of: parts, in: sheet) : [])
    }

    /// Returns the header `to`: for each line of the parts the phone, the row, the user and the system, with tabs. An
    /// example is `phone-5-0⇥update:a-phone-5-0⇥u:user-5⇥18`.
    private static func addressees(of parts: [Receipt.Part], in sheet: OpenSheet) -> [UInt8] {
        var text: [UInt8] = []
        for line in parts.flatMap({ $0.lines.ranges.flatMap(Array.init) }).sorted() {
            let person = sheet.people[line]
            let phone = phoneID(ofPerson: person, number: line % 2)
            let system = systemVersion(ofPerson: person).map { "\t\($0)" } ?? ""
            text += Array("\(phone)\tupdate:a-\(phone)\tu:\(userID(ofPerson: person))\(system)\n".utf8)
        }
        return text
    }

    /// Makes a sheet with random people of one lane, if the lane has people. At the limit it replaces an older sheet.
    private mutating func openSheet() {
        let send = random.number(below: Self.sendCount)
        let lane = random.number(below: lanes)
        let candidates = peopleOfLane[send % Self.apps.count][lane]
        if candidates.isEmpty { return }
        sheetCount += 1
        let topic = random.number(below: 10) == 0 ? "jobs.urgent" : "jobs"
        let sheet = OpenSheet(
            position: JobPosition(topic: topic, partition: Int32(lane), offset: sheetCount), send: send,
            environment: random.number(below: 5) == 0 ? .sandbox : .production, lane: lane,
            people: (0..<1 + random.number(below: Self.jobsPerSheetMax)).map { _ in
                candidates[random.number(below: candidates.count)]
            })
        if openSheets.count < Self.openSheetsMax {
            openSheets.append(sheet)
        } else {
            openSheets[random.number(below: openSheets.count)] = sheet
        }
    }

    /// The outcomes of jobs, each with APNs' status and a reason. Frequent outcomes are listed several times.
    private static let outcomes: [(outcome: ReceiptOutcome, status: Int?, reason: String?)] = [
        (.accepted, 200, nil), (.accepted, 200, nil), (.accepted, 200, nil),
        (.rejected, 400, "BadDeviceToken"),
        (.rejected, 410, "Unregistered"), (.superseded, nil, nil), (.superseded, nil, "cancelled"),
        (.expired, nil, nil), (.unknown, nil, "lost"), (.moved, 429, "TooManyRequests"), (.intent, nil, nil),
    ]

    /// Returns parts with some of the lines. Each line is in at most one part, and at least one line is in a part.
    private mutating func makeParts(jobCount: Int) -> [Receipt.Part] {
        var linesOfOutcomes = Array(repeating: LineSet(), count: Self.outcomes.count)
        // A choice beyond the outcomes leaves the line out.
        let choicesWithoutOutcome = 3
        for line in 0..<jobCount {
            let choice = random.number(below: Self.outcomes.count + choicesWithoutOutcome)
            if choice < linesOfOutcomes.count { linesOfOutcomes[choice].append(line) }
        }
        if linesOfOutcomes.allSatisfy(\.isEmpty) { linesOfOutcomes[0].append(0) }
        return zip(Self.outcomes, linesOfOutcomes).compactMap { entry, lines in
            if lines.isEmpty { return nil }
            let dueAt = entry.outcome == .moved ? dayStart + 25 * Self.hourMilliseconds : nil
            return Receipt.Part(
                entry.outcome, lines: lines, status: entry.status, reason: entry.reason, dueAt: dueAt)
        }
    }

    // MARK: Events and installations

    private mutating func makeEvent() -> DayRecord {
        let person = random.number(below: peopleCount)
        let event = Event(
            Event.Code.allCases[random.number(below: Event.Code.allCases.count)], app: randomApp(),
            environment: .production,
            installation: Self.phoneID(ofPerson: person, number: random.number(below: 2)),
            user: random.number(below: 4) > 0 ? Self.userID(ofPerson: person) : nil,
            attributesType: random.number(below: 3) == 0 ? nil : "Match",
            group: random.number(below: 2) == 0
                ? nil : Self.groupID(number: random.number(below: Self.groupCount)), eventTime: randomTime(),
            receivedAt: dayStart + Int64(Self.dayMilliseconds))
        return DayRecord(topic: .events, key: event.key, value: event.encoded())
    }

    private mutating func makeInstallation() -> DayRecord {
        let person = random.number(below: peopleCount)
        let id = Self.phoneID(ofPerson: person, number: random.number(below: 2))
        var phone = Installation(app: randomApp(), subject: .installation(id))
        if random.number(below: 20) == 0 {
            return DayRecord(topic: .installations, key: phone.key, value: nil)
        }
        let time = randomTime()
        let reportTime = ReportTime(event: time, received: time)
        if random.number(below: 10) > 0 {
            phone.user = Timestamped(.user(Self.userID(ofPerson: person)), at: reportTime)
        }
        phone.environment = Timestamped(.production, at: reportTime)
        phone.os = Timestamped("18.\(random.number(below: 5))", at: reportTime)
        // All phones may have the same tokens, because no figure depends on a token.
        phone.startTokens = [
            .init(
                type: "Match",
                token: .init(hash: "aa11", sealed: "00ff", environment: .production, at: reportTime))
        ]
        let activity = makeActivity(ofPhone: id, at: reportTime)
        if random.number(below: 5) > 0 { phone.activities = [activity] }
        return DayRecord(topic: .installations, key: phone.key, value: phone.encoded())
    }

    /// Makes the activity of a phone. One in four has ended, and one in four has expired.
    private mutating func makeActivity(
        ofPhone phone: String, at reportTime: ReportTime
    ) -> Installation.Activity {
        var activity = Installation.Activity(id: "a-\(phone)")
        activity.group = Timestamped(
            Self.groupID(number: random.number(below: Self.groupCount)), at: reportTime)
        activity.lastSeenAt = reportTime
        activity.token = .init(hash: "bb22", sealed: "00ff", environment: .production, at: reportTime)
        switch random.number(below: 4) {
        case 0: activity.closing = .init(endedAt: reportTime)
        case 1: activity.isExpired = true
        default: break
        }
        return activity
    }

    // MARK: Sends, groups, timers and the audit log

    private mutating func makeProgress() -> DayRecord {
        let send = random.number(below: Self.sendCount)
        let app = Self.app(ofSend: send)
        let key =
            Self.groupID(ofSend: send).map { ScopeKey(app: app, group: $0) }
            ?? ScopeKey(app: app, activity: "a-\(send)")
        var part = ProgressRecord.Part.planner(
            .init(.planned, version: Int64(send) + 1, generation: 1, laneCount: lanes))
        if random.number(below: 4) > 0 {
            let tally = makeTally()
            let firstLane = random.number(below: lanes)
            let laneEnd = min(lanes, firstLane + 1 + random.number(below: 3))
            part = .lanes(Array(firstLane..<laneEnd), tally)
        }
        let acceptedAt = acceptedAt(send: send)
        let record = ProgressRecord(
            send: Self.sendID(number: send), key: key, isDryRun: false, acceptedAt: acceptedAt,
            writtenAt: acceptedAt + Int64(random.number(below: 5000)), part: part)
        return DayRecord(
            topic: .progress, key: RecordKey.join(Self.sendID(number: send)), value: record.encoded())
    }

    private mutating func makeTally() -> LaneTally {
        var tally = LaneTally()
        tally.targeted = random.number(below: 5000)
        for _ in 0..<random.number(below: 60) {
            tally.countJob(on: OSVersion(UInt8(17 + random.number(below: 3)), 1))
        }
        tally.dropped = random.number(below: 20)
        tally.excludedByReason = ["no_token": random.number(below: 30)]
        return tally
    }

    private mutating func makeGroup() -> DayRecord {
        let key = ScopeKey(
            app: randomApp(), group: Self.groupID(number: random.number(below: Self.groupCount)))
        if random.number(below: 30) == 0 { return DayRecord(topic: .groups, key: key.bytes, value: nil) }
        var row = GroupRow()
        row.generation = 1 + Int64(random.number(below: 3))
        row.endVersion = Int64(random.number(below: 4))
        row.version = Int64(random.number(below: 1000))
        row.updateCount = random.number(below: 100)
        row.lastSendAt = randomTime()
        return DayRecord(topic: .groups, key: key.bytes, value: row.encoded())
    }

    private mutating func makeTimer() -> DayRecord {
        let user = Self.userID(ofPerson: random.number(below: peopleCount))
        let app = randomApp()
        var send = Send(
            id: "later", app: app, group: Self.groupID(number: 0), audience: .users([user]),
            content: PushContent(.update), priority: .powerSaving, acceptedAt: dayStart)
        // Ten days later, in seconds since 1970.
        send.deadline = dayStart / 1000 + 10 * 86_400
        let row = TimerRow(
            app: app, owner: .recipient(.user(user)), id: "t-\(random.number(below: 2))",
            dueAt: randomTime() + Int64(Self.dayMilliseconds),
            latenessMillisecondsMax: 1000, send: send, commandOffset: 1)
        let isTombstone = random.number(below: 3) == 0
        return DayRecord(
            topic: .timers, partition: Int32(lane(of: user, app: app)), key: row.key,
            value: isTombstone ? nil : row.encoded())
    }

    private func lane(of user: String, app: String) -> Int {
        Murmur2.partition(
            forKey: RegistryKey.partitionKey(app: app, recipient: .user(user)).span, partitionCount: lanes)
    }

    private mutating func makeAuditEntry() -> DayRecord {
        let entry = AuditEntry(
            at: randomTime(), author: "key-\(random.number(below: 9))", action: "send.start",
            app: randomApp(),
            subject: "s-\(random.number(below: 1000))")
        return DayRecord(topic: .audit, key: entry.key, value: entry.encoded())
    }
}
