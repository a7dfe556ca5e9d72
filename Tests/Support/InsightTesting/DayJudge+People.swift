internal import LiveActivity

extension DayJudge {
    /// The limit of pushes and events in an answer about a person.
    private static let newestMax = 50

    mutating func judge(person: Int, _ app: String) async throws {
        let user = DayMix.user(person)
        let name = DayModel.Name(app: app, name: user)
        let answer = try await ask(.user, app, id: user)
        let phones = model.phones.filter { $0.key.app == app && $0.value.recipient == .user(user) }
        let known = model.pushes[name] ?? []
        let events = model.eventsOfUsers[name] ?? []
        let timers = model.timers[.init(app: app, name: "u:" + user)] ?? []
        if phones.isEmpty, known.isEmpty, events.isEmpty, timers.isEmpty {
            return compare("\(user) of \(app) is unknown", answer["error"] != nil, to: true)
        }
        let listed = answer["installations"] as? [Answer] ?? []
        compare(
            "\(user)'s phones", Set(listed.compactMap { $0["installationId"] as? String }),
            to: Set(phones.map(\.key.name)))
        let schedules = answer["schedules"] as? [Answer] ?? []
        compare("\(user)'s schedules", Set(schedules.compactMap { $0["id"] as? String }), to: timers)
        comparePushes(of: user, answer, known)
        let told = (answer["events"] as? [Answer] ?? []).map(Self.text)
        compareNewest("\(user)'s events", told: told, known: events) { Int64($0.prefix { $0 != " " }) ?? 0 }
        for phone in phones.keys.sorted(by: { $0.name < $1.name }) { try await judge(phone: phone, of: user) }
    }

    private mutating func judge(phone: DayModel.Name, of user: String) async throws {
        let answer = try await ask(.installation, phone.app, id: phone.name)
        let row = model.phones[phone]
        compare("\(phone.name)'s system", answer["os"] as? String, to: row?.os?.value)
        compare("\(phone.name)'s user", answer["userId"] as? String, to: user)
        let activities = answer["activities"] as? [Answer] ?? []
        compare(
            "\(phone.name)'s activities", activities.compactMap { $0["groupId"] as? String },
            to: row?.activities.compactMap { $0.group?.value } ?? [])
        compare("\(phone.name)'s why", (answer["why"] as? Answer)?["sentence"] != nil, to: true)
        let pushes = model.pushes[.init(app: phone.app, name: user)] ?? []
        comparePushes(of: phone.name, answer, pushes.filter { $0.installation == phone.name })
    }

    private mutating func comparePushes(of whom: String, _ answer: Answer, _ known: [DayModel.Push]) {
        let told = (answer["pushes"] as? [Answer] ?? []).map { push in
            DayModel.Push(
                at: push["at"] as? Int64 ?? 0, send: push["sendId"] as? String ?? "",
                outcome: push["outcome"] as? String ?? "",
                installation: push["installationId"] as? String ?? "")
        }
        compareNewest("\(whom)'s pushes", told: told, known: known, at: \.at)
    }

    /// Compares the newest entries. Entries of the oldest time in the answer are not compared, because others
    /// may have the same time.
    private mutating func compareNewest<One: Hashable>(
        _ what: String, told: [One], known: [One], at time: (One) -> Int64
    ) {
        compare("how many of \(what)", told.count, to: min(Self.newestMax, known.count))
        let oldest = told.map(time).min() ?? 0
        func counted(_ all: [One]) -> [One: Int] {
            all.filter { time($0) > oldest }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        compare(what, counted(told), to: counted(known))
        compare("\(what) are true", Set(told).isSubset(of: known), to: true)
    }

    static func text(_ event: Answer) -> String {
        DayModel.text(
            of: event["code"] as? String ?? "", at: event["at"] as? Int64 ?? 0,
            on: event["installationId"] as? String ?? "")
    }
}
