import CatalogRecords
import Identifiers
import InstallationRecords
import JSON
import TokenSealing

/// The expected registry after a `History`, as a second implementation of the rules of merging. It is slow and plain:
/// each question is answered by a search through all reports. It keeps no installation, and it does not know in which
/// order the reports were merged.
struct RegistryModel {
    let reports: [ReceivedReport]
    /// The time at which the registry is read, in milliseconds since 1970.
    let now: Int64
    private let seal = TokenSeal(keys: nil)

    /// The rows under present recipients, without `movedAt`, which depends on the order of arrival.
    var rows: [RegistryKey: RegistryRow] {
        var rows: [RegistryKey: RegistryRow] = [:]
        for user in History.users {
            let reportsOfUser = reports.filter { $0.report.installation == nil && $0.report.user == user }
            if let row = profile(afterLastErasure(of: reportsOfUser)) {
                rows[key(.user(user), nil, .profile)] = .profile(row)
            }
        }
        for type in History.types {
            if let row = startRow(type) { rows[key(recipient, "i", .start(type: type))] = .token(row) }
        }
        for id in History.activities {
            if let row = updateRow(id) { rows[key(recipient, "i", .update(activity: id))] = .token(row) }
        }
        if let row = profile(reportsOfPhone) { rows[key(recipient, "i", .profile)] = .profile(row) }
        return rows
    }

    private func key(
        _ recipient: Recipient, _ installation: String?, _ entry: RegistryKey.Entry
    ) -> RegistryKey {
        RegistryKey(app: History.app.id, recipient: recipient, installation: installation, entry: entry)
    }

    // MARK: Reports in their order

    /// A position in the order that decides which report is the last: times, then the place among equal times.
    private struct ReportOrder: Comparable {
        /// The believed time of the event, in milliseconds since 1970. The two other times have the same unit.
        let eventTime: Int64
        let receivedAt: Int64
        /// The time by the phone's clock.
        let claimedTime: Int64
        /// Reports without a position in a body sort by their offset, after those with a position.
        let place: [Int64]

        static func < (left: ReportOrder, right: ReportOrder) -> Bool {
            let leftTimes = [left.eventTime, left.receivedAt, left.claimedTime]
            let rightTimes = [right.eventTime, right.receivedAt, right.claimedTime]
            return (leftTimes + left.place).lexicographicallyPrecedes(rightTimes + right.place)
        }
    }

    /// The longest delay of a report. An earlier time by the phone's clock is not believed.
    private static let delayMax = 48 * History.hour

    /// The reports of the phone that count: those after its last erasure.
    private var reportsOfPhone: [ReceivedReport] { afterLastErasure(of: allReportsOfPhone) }

    /// All reports of the phone. A refusal comes from a sender.
    private var allReportsOfPhone: [ReceivedReport] {
        reports.filter { $0.report.installation != nil && $0.report.kind != .deadToken }
    }

    /// Returns the reports after the last erasure.
    private func afterLastErasure(of reports: [ReceivedReport]) -> [ReceivedReport] {
        let erasures = reports.filter { $0.report.kind == .erase }
        let otherReports = reports.filter { $0.report.kind != .erase }
        guard let lastErasure = erasures.map(time).max() else { return otherReports }
        return otherReports.filter { lastErasure < time($0) }
    }

    private func isErased(_ time: ReportOrder) -> Bool {
        allReportsOfPhone.contains { $0.report.kind == .erase && self.time($0) >= time }
    }

    private func time(_ received: ReceivedReport) -> ReportOrder {
        let claimedTime = received.report.eventTime ?? received.receivedAt
        let notAfterArrival = min(claimedTime, received.receivedAt)
        let eventTime = max(notAfterArrival, received.receivedAt - Self.delayMax)
        let place: [Int64] = received.report.bodyPosition.map { [0, Int64($0)] } ?? [1, received.offset]
        return ReportOrder(
            eventTime: eventTime, receivedAt: received.receivedAt, claimedTime: claimedTime, place: place)
    }

    /// Returns the value of the last report that has one. A tie goes to the value whose text sorts last.
    private func last<T>(
        _ reports: [ReceivedReport], _ value: (Report) -> T?, _ text: (T) -> String
    ) -> (value: T, time: ReportOrder)? {
        var reportedValues: [(value: T, time: ReportOrder)] = []
        for received in reports {
            if let value = value(received.report) { reportedValues.append((value, time(received))) }
        }
        return reportedValues.max { left, right in
            left.time == right.time ? text(left.value) < text(right.value) : left.time < right.time
        }
    }

    // MARK: The installation

    private var environment: Environment? {
        last(reportsOfPhone, { $0.environment }, { $0.rawValue })?.value
    }

    private var recipient: Recipient {
        let reported = last(
            reportsOfPhone, { $0.user.map(Recipient.user) ?? ($0.isLoggedOut ? .installation("i") : nil) },
            { $0.text })
        return reported?.value ?? .installation("i")
    }

    private func profile(_ reports: [ReceivedReport]) -> ProfileRow? {
        let tags = last(reports, { $0.tags }, { $0.joined() })
        let locale = last(reports, { $0.locale }, { $0 })
        let zone = last(reports, { $0.timeZone }, { $0 })
        let attributes = last(reports, { $0.attributes }, { String(decoding: $0.bytes, as: UTF8.self) })
        let build = last(reports, { $0.appBuild }, { $0 })
        let times = [tags?.time, locale?.time, zone?.time, attributes?.time].compactMap { $0 }
        let newestTime = times.max()
        guard let updatedAt = [newestTime?.receivedAt, build?.time.receivedAt].compactMap({ $0 }).max() else {
            return nil
        }
        return ProfileRow(
            tags: tags?.value, attributes: attributes?.value, locale: locale?.value,
            timeZone: zone?.value, os: last(reports, { $0.os }, { $0 })?.value, appBuild: build?.value,
            updatedAt: updatedAt)
    }

    // MARK: Tokens

    /// Whether APNs has refused the token after it was received. A time of APNs is exact to a second.
    private func isRefused(_ hash: String, _ receivedAt: Int64) -> Bool {
        reports.contains { received in
            guard let refusal = received.report.refusal, refusal.tokenHash == hash else { return false }
            let refusedUntil = refusal.invalidatedAt.map { $0 + 1000 } ?? refusal.dispatchedAt
            return receivedAt <= refusedUntil
        }
    }

    /// Returns the row of the newest of these tokens, unless it is useless.
    private func tokenRow(_ reports: [ReceivedReport]) -> (row: TokenRow, time: ReportOrder)? {
        func hash(_ report: Report) -> String {
            String(decoding: Hex.encode(seal.hash(of: PushToken(hex: report.token!)!)), as: UTF8.self)
        }
        guard
            let (newest, time) = last(reports, { $0 }, { hash($0) + " " + $0.environment!.rawValue }),
            newest.environment == environment, !isRefused(hash(newest), time.receivedAt)
        else { return nil }
        var row = TokenRow(
            environment: newest.environment!, token: newest.token!, tokenHash: hash(newest),
            attributesType: nil, registeredAt: time.receivedAt, isUnproven: true)
        row.os = last(reportsOfPhone, { $0.os }, { $0 })?.value
        row.frequentPushesEnabled = last(reportsOfPhone, { $0.frequentPushesEnabled }, { "\($0)" })?.value
        row.activitiesEnabled = last(reportsOfPhone, { $0.activitiesEnabled }, { "\($0)" })?.value
        return (row, time)
    }

    private func lastUnregistration(of type: String?) -> ReportOrder? {
        reportsOfPhone.filter { $0.report.kind == .unregister && $0.report.attributesType == type }.map(time)
            .max()
    }

    private func startRow(_ type: String?) -> TokenRow? {
        guard case (var row, let time)? = tokenRow(startTokens(of: type)) else { return nil }
        if let unregisteredAt = lastUnregistration(of: type), unregisteredAt >= time { return nil }
        row.attributesType = type
        if type == nil {
            // A start token without a type serves all types, except those that the phone has unregistered.
            let unregisteredTypes = History.types.compactMap { $0 }.filter(isUnregistered).sorted()
            row.unregisteredTypes = unregisteredTypes.isEmpty ? nil : unregisteredTypes
        }
        return row
    }

    /// Whether the type was unregistered and has no later token of this type.
    private func isUnregistered(_ type: String) -> Bool {
        guard let unregisteredAt = lastUnregistration(of: type) else { return false }
        return !startTokens(of: type).contains { unregisteredAt < time($0) }
    }

    private func startTokens(of type: String?) -> [ReceivedReport] {
        reportsOfPhone.filter { $0.report.kind == .startToken && $0.report.attributesType == type }
    }

    // MARK: Activities

    /// The reports about one activity.
    private struct ActivityReports {
        /// The reports after the last erasure, without taps.
        let all: [ReceivedReport]
        /// The reports that show that the activity runs.
        let lifeSigns: [ReceivedReport]
        /// The reports with an update token.
        let tokens: [ReceivedReport]
        /// The reports of its end and its dismissal, also those before an erasure. The end of an activity is never
        /// forgotten.
        let ends: [ReceivedReport]

        let type: String?
        /// The time after the last sign of life for which the token of the type is kept.
        let tokenMilliseconds: Int64
    }

    private func activityReports(_ id: String) -> ActivityReports {
        let all = reportsOfPhone.filter { $0.report.activity == id && $0.report.kind != .tap }
        let type = last(all, { $0.attributesType }, { $0 })?.value
        return ActivityReports(
            all: all,
            lifeSigns: all.filter { $0.report.state != .ended && $0.report.state != .dismissed },
            tokens: all.filter { $0.report.kind == .updateToken },
            ends: allReportsOfPhone.filter {
                $0.report.activity == id && ($0.report.state == .ended || $0.report.state == .dismissed)
            },
            type: type,
            tokenMilliseconds: History.app.activityType(named: type ?? "").updateTokenMilliseconds)
    }

    private func updateRow(_ id: String) -> TokenRow? {
        let activity = activityReports(id)
        let endedAt = activity.ends.filter { $0.report.state == .ended }.map(time).min()
        let dismissedAt = activity.ends.filter { $0.report.state == .dismissed }.map(time).min()
        var wasDismissedByPerson = dismissedAt != nil
        if let endedAt, let dismissedAt,
            dismissedAt.eventTime - endedAt.eventTime > Self.systemDismissalMilliseconds
        {
            wasDismissedByPerson = false
        }
        var row: TokenRow?
        if let dismissedAt, wasDismissedByPerson {
            row = dismissedRow(of: activity, dismissedAt: dismissedAt, endedAt: endedAt)
        } else {
            row = runningRow(of: activity, id: id)
        }
        row?.attributesType = activity.type
        row?.group = last(activity.all, { $0.group }, { $0 })?.value
        return row
    }

    /// A dismissal more than this time after the end was not done by the person, but by the system.
    private static let systemDismissalMilliseconds: Int64 = 60_000

    /// Returns the row of an activity that the person has dismissed. It has no token, and is kept for late reports.
    private func dismissedRow(
        of activity: ActivityReports, dismissedAt: ReportOrder, endedAt: ReportOrder?
    ) -> TokenRow? {
        if isErased(dismissedAt) { return nil }
        var row = TokenRow(
            environment: environment!, token: nil, tokenHash: nil, attributesType: nil,
            registeredAt: dismissedAt.receivedAt)
        row.dismissedAt = dismissedAt.receivedAt
        let lastLifeSign = activity.lifeSigns.map(time).max()
        let lastToken = last(activity.tokens, { $0 }, { _ in "" })?.time
        let lastReport = max(
            lastLifeSign?.receivedAt ?? 0, lastToken?.receivedAt ?? 0, dismissedAt.receivedAt,
            endedAt?.receivedAt ?? 0)
        row.expiresAt = lastReport + Self.delayMax + activity.tokenMilliseconds
        return row
    }

    /// Returns the row of an activity that runs and has a usable token.
    private func runningRow(of activity: ActivityReports, id: String) -> TokenRow? {
        let lastLifeSign = activity.lifeSigns.map(time).max()
        guard activity.ends.isEmpty, let lastLifeSign, let newestToken = tokenRow(activity.tokens) else {
            return nil
        }
        var row = newestToken.row
        var lastSeenAt = max(lastLifeSign.receivedAt, newestToken.time.receivedAt)
        let running = last(reportsOfPhone, { $0.runningActivities?.sorted() }, { $0.joined() })
        if let running, running.value.contains(id) {
            lastSeenAt = max(lastSeenAt, running.time.receivedAt)
        } else if let running, lastLifeSign < running.time {
            // A later list of the running activities does not have this one.
            return nil
        }
        if let type = activity.type, let unregisteredAt = lastUnregistration(of: type),
            unregisteredAt >= lastLifeSign
        {
            return nil
        }
        if lastSeenAt + activity.tokenMilliseconds <= now { return nil }
        row.expiresAt = lastSeenAt + activity.tokenMilliseconds
        row.channel = last(activity.tokens, { $0.channel }, { $0 })?.value
        return row
    }
}
