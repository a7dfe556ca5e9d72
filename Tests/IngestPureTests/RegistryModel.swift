import CatalogRecords
import Identifiers
import InstallationRecords
import JSON
import TokenSealing

/// The expected registry after a set of reports, in the plainest form. Every question is answered by a search
/// through all reports. The model keeps no record and no order of arrival.
struct RegistryModel {
    let reports: [ReceivedReport]
    let now: Int64
    private let seal = TokenSeal(keys: nil)

    /// The rows under present recipients, without `movedAt`, which depends on the order of arrival.
    var rows: [RegistryKey: RegistryRow] {
        var rows: [RegistryKey: RegistryRow] = [:]
        for user in History.users {
            let words = since(
                erased: reports.filter { $0.report.installation == nil && $0.report.user == user })
            if let row = profile(words) { rows[key(.user(user), nil, .profile)] = .profile(row) }
        }
        for type in History.types {
            if let row = startRow(type) { rows[key(recipient, "i", .start(type: type))] = .token(row) }
        }
        for id in History.activities {
            if let row = updateRow(id) { rows[key(recipient, "i", .update(activity: id))] = .token(row) }
        }
        if let row = profile(phone) { rows[key(recipient, "i", .profile)] = .profile(row) }
        return rows
    }

    private func key(
        _ recipient: Recipient, _ installation: String?, _ entry: RegistryKey.Entry
    ) -> RegistryKey {
        RegistryKey(app: History.app.id, recipient: recipient, installation: installation, entry: entry)
    }

    // MARK: Reports in their order

    private var phone: [ReceivedReport] { since(erased: everSaid) }

    private var everSaid: [ReceivedReport] {
        reports.filter { $0.report.installation != nil && $0.report.kind != .deadToken }
    }

    /// Returns the reports after the last erasure.
    private func since(erased words: [ReceivedReport]) -> [ReceivedReport] {
        let (wishes, rest) = (
            words.filter { $0.report.kind == .erase }, words.filter { $0.report.kind != .erase }
        )
        guard let last = wishes.map(time).sorted(by: isBefore).last else { return rest }
        return rest.filter { isBefore(last, time($0)) }
    }

    private func isErased(_ time: [Int64]) -> Bool {
        everSaid.contains { $0.report.kind == .erase && !isBefore(self.time($0), time) }
    }

    private func time(_ received: ReceivedReport) -> [Int64] {
        var event = received.report.eventTime ?? received.receivedAt
        if event > received.receivedAt { event = received.receivedAt }
        if event < received.receivedAt - 48 * History.hour { event = received.receivedAt - 48 * History.hour }
        let claim = received.report.eventTime ?? received.receivedAt
        // Reports without a position in a body sort by their offset, after those with a position.
        let order: [Int64] = received.report.bodyPosition.map { [0, Int64($0)] } ?? [1, received.offset]
        return [event, received.receivedAt, claim] + order
    }

    private func isBefore(_ a: [Int64], _ b: [Int64]) -> Bool { a.lexicographicallyPrecedes(b) }

    /// Returns the last value by time and order. A tie goes to the text that sorts last.
    private func last<T>(
        _ reports: [ReceivedReport], _ value: (Report) -> T?, _ text: (T) -> String
    ) -> (value: T, time: [Int64])? {
        var said: [(value: T, time: [Int64])] = []
        for received in reports {
            if let value = value(received.report) { said.append((value, time(received))) }
        }
        return said.sorted { a, b in
            a.time == b.time ? text(a.value) < text(b.value) : isBefore(a.time, b.time)
        }.last
    }

    // MARK: The installation

    private var environment: Environment? {
        last(phone, { $0.environment }, { $0.rawValue })?.value
    }

    private var recipient: Recipient {
        let said = last(
            phone, { $0.user.map(Recipient.user) ?? ($0.isLoggedOut ? .installation("i") : nil) },
            { $0.text })
        return said?.value ?? .installation("i")
    }

    private func profile(_ words: [ReceivedReport]) -> ProfileRow? {
        let tags = last(words, { $0.tags }, { $0.joined() })
        let locale = last(words, { $0.locale }, { $0 })
        let zone = last(words, { $0.timeZone }, { $0 })
        let attributes = last(words, { $0.attributes }, { String(decoding: $0.bytes, as: UTF8.self) })
        let build = last(words, { $0.appBuild }, { $0 })
        let times = [tags?.time, locale?.time, zone?.time, attributes?.time].compactMap { $0 }
        let newest = times.sorted(by: isBefore).last
        guard let updatedAt = [newest?[1], build?.time[1]].compactMap({ $0 }).max() else { return nil }
        return ProfileRow(
            tags: tags?.value ?? [], attributes: attributes?.value, locale: locale?.value,
            timeZone: zone?.value, os: last(words, { $0.os }, { $0 })?.value, appBuild: build?.value,
            updatedAt: updatedAt)
    }

    // MARK: Tokens

    private func isRefused(_ hash: String, _ receivedAt: Int64) -> Bool {
        reports.contains { received in
            guard let refusal = received.report.refusal, refusal.tokenHash == hash else { return false }
            return receivedAt <= refusal.invalidatedAt.map { $0 + 1000 } ?? refusal.dispatchedAt
        }
    }

    /// Returns the row of the newest of these tokens, unless it is useless.
    private func tokenRow(_ reports: [ReceivedReport]) -> (row: TokenRow, time: [Int64])? {
        func hash(_ report: Report) -> String {
            String(decoding: Hex.encode(seal.hash(of: PushToken(hex: report.token!)!)), as: UTF8.self)
        }
        guard
            let (newest, time) = last(reports, { $0 }, { hash($0) + " " + $0.environment!.rawValue }),
            newest.environment == environment, !isRefused(hash(newest), time[1])
        else { return nil }
        var row = TokenRow(
            environment: newest.environment!, token: newest.token!, tokenHash: hash(newest),
            attributesType: nil, registeredAt: time[1], isUnproven: true)
        row.os = last(phone, { $0.os }, { $0 })?.value
        row.frequentPushesEnabled = last(phone, { $0.frequentPushesEnabled }, { "\($0)" })?.value
        row.activitiesEnabled = last(phone, { $0.activitiesEnabled }, { "\($0)" })?.value
        return (row, time)
    }

    private func unregistered(_ type: String?) -> [Int64]? {
        phone.filter { $0.report.kind == .unregister && $0.report.attributesType == type }.map(time)
            .sorted(by: isBefore).last
    }

    private func startRow(_ type: String?) -> TokenRow? {
        let words = phone.filter { $0.report.kind == .startToken && $0.report.attributesType == type }
        guard case (var row, let time)? = tokenRow(words) else { return nil }
        if let gone = unregistered(type), !isBefore(gone, time) { return nil }
        row.attributesType = type
        if type == nil {
            let unwanted = History.types.compactMap { $0 }.filter(isUnwanted).sorted()
            row.unregisteredTypes = unwanted.isEmpty ? nil : unwanted
        }
        return row
    }

    /// Whether the type was unregistered and has no later token of this type.
    private func isUnwanted(_ type: String) -> Bool {
        guard let gone = unregistered(type) else { return false }
        let tokens = phone.filter { $0.report.kind == .startToken && $0.report.attributesType == type }
        return !tokens.contains { isBefore(gone, time($0)) }
    }

    private func updateRow(_ id: String) -> TokenRow? {
        let words = phone.filter { $0.report.activity == id && $0.report.kind != .tap }
        // The end of an activity is never forgotten.
        let ends = everSaid.filter {
            $0.report.activity == id && ($0.report.state == .ended || $0.report.state == .dismissed)
        }
        let signs = words.filter { $0.report.state != .ended && $0.report.state != .dismissed }
        let tokens = words.filter { $0.report.kind == .updateToken }
        let type = last(words, { $0.attributesType }, { $0 })?.value
        let life = History.app.activityType(named: type ?? "").updateTokenMilliseconds
        let heard = signs.map(time).sorted(by: isBefore).last
        let token = last(tokens, { $0 }, { _ in "" })?.time
        let dismissal = ends.filter { $0.report.state == .dismissed }.map(time).sorted(by: isBefore).first
        let ending = ends.filter { $0.report.state == .ended }.map(time).sorted(by: isBefore).first
        // A dismissal more than a minute after the end was not done by the person.
        let byPerson = dismissal.flatMap { gone in
            ending.map { gone[0] - $0[0] > 60_000 } == true ? nil : gone
        }
        var row: TokenRow
        if let dismissed = byPerson {
            if isErased(dismissed) { return nil }
            row = TokenRow(
                environment: environment!, token: nil, tokenHash: nil, attributesType: nil,
                registeredAt: dismissed[1])
            row.dismissedAt = dismissed[1]
            let lastWord = max(heard?[1] ?? 0, token?[1] ?? 0, dismissed[1], ending?[1] ?? 0)
            row.expiresAt = lastWord + 48 * History.hour + life
        } else {
            guard ends.isEmpty, let heard, let found = tokenRow(tokens) else { return nil }
            row = found.row
            var lastSign = max(heard[1], found.time[1])
            let running = last(phone, { $0.runningActivities?.sorted() }, { $0.joined() })
            if let running, running.value.contains(id) {
                lastSign = max(lastSign, running.time[1])
            } else if let running, isBefore(heard, running.time) {
                return nil
            }
            if let type, let gone = unregistered(type), !isBefore(gone, heard) { return nil }
            if lastSign + life <= now { return nil }
            row.expiresAt = lastSign + life
            row.channel = last(tokens, { $0.channel }, { $0 })?.value
        }
        row.attributesType = type
        row.group = last(words, { $0.group }, { $0 })?.value
        return row
    }
}
