internal import Identifiers
internal import InstallationRecords
internal import Members

// The lists of users and installations, and the counts of events by user.
extension DayChecker {
    /// The size of a page. The lists have several pages.
    private static let pageSize = "7"

    /// Checks that the list has each user with the number of its phones, in the order of their ids.
    mutating func checkUsers(of app: String) async throws {
        let rows = try await askForAll(
            .users, app: app, list: "items", parameters: ["limit": Self.pageSize])
        var expected: [String: Int] = [:]
        for (name, phone) in model.phones where name.app == app {
            if case .user(let user) = phone.recipient { expected[user, default: 0] += 1 }
        }
        let names = rows.map { $0["userId"] as? String ?? "" }
        compare("the users of \(app)", found: names, to: expected.keys.sorted { isBefore($0, $1) })
        let counts = Dictionary(
            rows.map { ($0["userId"] as? String ?? "", $0["installations"] as? Int ?? 0) },
            uniquingKeysWith: +)
        compare("the number of phones of each user of \(app)", found: counts, to: expected)
    }

    /// Checks the list of all phones, and of the phones of some users.
    mutating func checkInstallations(of app: String) async throws {
        let phones = model.phones.filter { $0.key.app == app }
        func ids(of rows: [JSONAnswer]) -> [String] { rows.map { $0["installationId"] as? String ?? "" } }
        let rows = try await askForAll(
            .installations, app: app, list: "items", parameters: ["limit": Self.pageSize])
        compare(
            "the phones of \(app)", found: ids(of: rows),
            to: phones.keys.map(\.name).sorted { isBefore($0, $1) })
        for person in 0..<min(Self.peopleCheckedMax, day.peopleCount) {
            let user = DayGenerator.userID(ofPerson: person)
            let rows = try await askForAll(
                .installations, app: app, list: "items", parameters: ["limit": "1", "user": user])
            let expected = phones.filter { $0.value.recipient == .user(user) }.keys.map(\.name)
            compare(
                "the phones of \(user) in \(app)", found: ids(of: rows),
                to: expected.sorted { isBefore($0, $1) })
        }
    }

    /// Checks the numbers of events of users: all users together, and some users alone.
    mutating func checkCountsByUser(of app: String) async throws {
        var expected: [String: Int] = [:]
        for (name, events) in model.eventsOfUsers where name.app == app { expected[name.name] = events.count }
        let answer = try await ask(
            .eventCounts, app: app, parameters: dayRange.merging(["split": "user", "by": "day"]) { $1 })
        var reported: [String: Int] = [:]
        for bucket in answer["buckets"] as? [JSONAnswer] ?? [] {
            guard let user = bucket["user"] as? String else { continue }
            reported[user, default: 0] += bucket["count"] as? Int ?? 0
        }
        compare("the counts of \(app) by user", found: reported, to: expected)
        for person in 0..<min(Self.peopleCheckedMax, day.peopleCount) {
            let user = DayGenerator.userID(ofPerson: person)
            let answer = try await ask(
                .eventCounts, app: app, parameters: dayRange.merging(["user": user]) { $1 })
            let total = (answer["totals"] as? [String: Int] ?? [:]).values.reduce(0, +)
            compare("the number of events of \(user) in \(app)", found: total, to: expected[user] ?? 0)
        }
    }

    /// Whether a name comes first in the order of its bytes.
    private func isBefore(_ first: String, _ second: String) -> Bool {
        Array(first.utf8).lexicographicallyPrecedes(Array(second.utf8))
    }
}
