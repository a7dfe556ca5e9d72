internal import Identifiers
internal import InstallationRecords
internal import Members

extension DayChecker {
    /// The limit of pushes and events in an answer about a person.
    private static let newestMax = 50

    mutating func check(person: Int, of app: String) async throws {
        let user = DayGenerator.userID(ofPerson: person)
        let name = DayModel.AppScopedName(app: app, name: user)
        let answer = try await ask(.user, app: app, id: user)
        let phones = model.phones.filter { $0.key.app == app && $0.value.recipient == .user(user) }
        let known = model.pushes[name] ?? []
        let events = model.eventsOfUsers[name] ?? []
        let timers = model.timers[.init(app: app, name: "u:" + user)] ?? []
        if phones.isEmpty, known.isEmpty, events.isEmpty, timers.isEmpty {
            return compare("\(user) of \(app) is unknown", found: answer["error"] != nil, to: true)
        }
        let listed = answer["installations"] as? [JSONAnswer] ?? []
        compare(
            "\(user)'s phones", found: Set(listed.compactMap { $0["installationId"] as? String }),
            to: Set(phones.map(\.key.name)))
        let schedules = answer["schedules"] as? [JSONAnswer] ?? []
        compare("\(user)'s schedules", found: Set(schedules.compactMap { $0["id"] as? String }), to: timers)
        comparePushes(of: user, in: answer, to: known)
        let reported = (answer["events"] as? [JSONAnswer] ?? []).map(Self.text)
        compareNewest("\(user)'s events", reported: reported, known: events) {
            Int64($0.prefix { $0 != " " }) ?? 0
        }
        for phone in phones.keys.sorted(by: { $0.name < $1.name }) { try await check(phone: phone, of: user) }
    }

    private mutating func check(phone: DayModel.AppScopedName, of user: String) async throws {
        let answer = try await ask(.installation, app: phone.app, id: phone.name)
        let row = model.phones[phone]
        compare("\(phone.name)'s system", found: answer["os"] as? String, to: row?.os?.value)
        compare("\(phone.name)'s user", found: answer["userId"] as? String, to: user)
        let activities = answer["activities"] as? [JSONAnswer] ?? []
        compare(
            "\(phone.name)'s activities", found: activities.compactMap { $0["groupId"] as? String },
            to: row?.activities.compactMap { $0.group?.value } ?? [])
        compare("\(phone.name)'s why", found: (answer["why"] as? JSONAnswer)?["sentence"] != nil, to: true)
        let pushes = model.pushes[.init(app: phone.app, name: user)] ?? []
        comparePushes(of: phone.name, in: answer, to: pushes.filter { $0.installation == phone.name })
    }

    private mutating func comparePushes(of owner: String, in answer: JSONAnswer, to known: [DayModel.Push]) {
        let reported = (answer["pushes"] as? [JSONAnswer] ?? []).map { push in
            DayModel.Push(
                at: push["at"] as? Int64 ?? 0, send: push["sendId"] as? String ?? "",
                outcome: push["outcome"] as? String ?? "",
                installation: push["installationId"] as? String ?? "")
        }
        compareNewest("\(owner)'s pushes", reported: reported, known: known, at: \.at)
    }

    /// Compares the newest entries. Entries of the oldest time in the answer are not compared, because others
    /// may have the same time.
    private mutating func compareNewest<One: Hashable>(
        _ what: String, reported: [One], known: [One], at time: (One) -> Int64
    ) {
        compare("how many of \(what)", found: reported.count, to: min(Self.newestMax, known.count))
        let oldest = reported.map(time).min() ?? 0
        func counts(of all: [One]) -> [One: Int] {
            all.filter { time($0) > oldest }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        compare(what, found: counts(of: reported), to: counts(of: known))
        compare("\(what) are true", found: Set(reported).isSubset(of: known), to: true)
    }

    static func text(of event: JSONAnswer) -> String {
        DayModel.text(
            of: event["code"] as? String ?? "", at: event["at"] as? Int64 ?? 0,
            on: event["installationId"] as? String ?? "")
    }
}
