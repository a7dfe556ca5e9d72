internal import Identifiers
internal import InstallationRecords
internal import Members

// The questions about a person: all that insight knows of a user and of the user's phones.
extension DayChecker {
    /// The largest number of pushes and of events in an answer about a person.
    private static let newestMax = 50

    mutating func check(person: Int, of app: String) async throws {
        let user = DayGenerator.userID(ofPerson: person)
        let name = DayModel.AppScopedName(app: app, name: user)
        let answer = try await ask(.user, app: app, id: user)
        let phones = model.phones.filter { $0.key.app == app && $0.value.recipient == .user(user) }
        let pushes = model.pushes[name] ?? []
        let events = model.eventsOfUsers[name] ?? []
        let timers = model.timers[.init(app: app, name: "u:" + user)] ?? []
        if phones.isEmpty, pushes.isEmpty, events.isEmpty, timers.isEmpty {
            return compare("\(user) of \(app) is unknown", found: answer["error"] != nil, to: true)
        }
        let reportedPhones = answer["installations"] as? [JSONAnswer] ?? []
        compare(
            "\(user)'s phones", found: Set(reportedPhones.compactMap { $0["installationId"] as? String }),
            to: Set(phones.map(\.key.name)))
        let schedules = answer["schedules"] as? [JSONAnswer] ?? []
        compare("\(user)'s schedules", found: Set(schedules.compactMap { $0["id"] as? String }), to: timers)
        comparePushes(of: user, in: answer, to: pushes)
        let reportedEvents = (answer["events"] as? [JSONAnswer] ?? []).map(Self.text)
        // The text of an event begins with its time and a space.
        compareNewest("\(user)'s events", reported: reportedEvents, expected: events) { event in
            Int64(event.prefix { $0 != " " }) ?? 0
        }
        for phone in phones.keys.sorted(by: { $0.name < $1.name }) { try await check(phone: phone, of: user) }
    }

    private mutating func check(phone: DayModel.AppScopedName, of user: String) async throws {
        let answer = try await ask(.installation, app: phone.app, id: phone.name)
        let expected = model.phones[phone]
        compare("\(phone.name)'s system", found: answer["os"] as? String, to: expected?.os?.value)
        compare("\(phone.name)'s user", found: answer["userId"] as? String, to: user)
        let activities = answer["activities"] as? [JSONAnswer] ?? []
        compare(
            "\(phone.name)'s activities", found: activities.compactMap { $0["groupId"] as? String },
            to: expected?.activities.compactMap { $0.group?.value } ?? [])
        let hasSentence = (answer["why"] as? JSONAnswer)?["sentence"] != nil
        compare("\(phone.name) has a sentence that explains its screen", found: hasSentence, to: true)
        let pushes = model.pushes[.init(app: phone.app, name: user)] ?? []
        comparePushes(of: phone.name, in: answer, to: pushes.filter { $0.installation == phone.name })
    }

    private mutating func comparePushes(
        of owner: String, in answer: JSONAnswer, to expected: [DayModel.Push]
    ) {
        let reported = (answer["pushes"] as? [JSONAnswer] ?? []).map { push in
            DayModel.Push(
                at: push["at"] as? Int64 ?? 0, send: push["sendId"] as? String ?? "",
                outcome: push["outcome"] as? String ?? "",
                installation: push["installationId"] as? String ?? "")
        }
        compareNewest("\(owner)'s pushes", reported: reported, expected: expected, at: \.at)
    }

    /// Compares the newest entries. Entries with the oldest time in the answer are not counted, because the model may
    /// have more entries with the same time. They must only be in the model.
    private mutating func compareNewest<Entry: Hashable>(
        _ name: String, reported: [Entry], expected: [Entry], at time: (Entry) -> Int64
    ) {
        compare("number of \(name)", found: reported.count, to: min(Self.newestMax, expected.count))
        let oldestTime = reported.map(time).min() ?? 0
        func newerCounts(of entries: [Entry]) -> [Entry: Int] {
            entries.filter { time($0) > oldestTime }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        compare(name, found: newerCounts(of: reported), to: newerCounts(of: expected))
        compare("\(name) are all in the topics", found: Set(reported).isSubset(of: expected), to: true)
    }

    /// Returns a reported event as `TIME CODE INSTALLATION`, as `DayModel.text` does.
    static func text(of event: JSONAnswer) -> String {
        DayModel.text(
            of: event["code"] as? String ?? "", at: event["at"] as? Int64 ?? 0,
            on: event["installationId"] as? String ?? "")
    }
}
