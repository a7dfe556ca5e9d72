import Foundation
import Identifiers
import InstallationRecords
import JSON
import Kafka
import Lifecycle
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

let partition = TopicPartition("registry", 0)
/// The time of the first registrations, in milliseconds since 1970.
let start: Int64 = 1_763_600_000_000

/// Opens the lane in a directory. A lane is the file of the registry's rows for one partition.
///
/// - Parameter boot: The machine's boot id. Another one than before means that the machine was restarted.
func openLane(
    _ directory: String, boot: String = "boot-1", metrics: Metrics = Metrics(), mapBytesAtStart: Int = 1 << 20
) throws -> Lane {
    try Lane(
        directory: directory + "/lane", partition: partition, origin: "here", ageMaxMilliseconds: .max,
        limits: EnvironmentLimits(mapBytesAtStart: mapBytesAtStart), now: .now(), boot: BootID(boot),
        log: .silent,
        metrics: LaneMetrics(metrics))
}

extension Lane {
    /// Applies a record, or a tombstone if the value is nil.
    func apply(_ value: [UInt8]?, to key: RegistryKey, offset: Int64) throws {
        if let value {
            try apply(key: key.bytes.span, value: value.span, offset: offset)
        } else {
            try apply(key: key.bytes.span, value: nil, offset: offset)
        }
    }

    /// Commits the applied records. The lane then continues at this offset.
    func commit(_ offset: Int64) throws { try commit(AppliedProgress(offset: offset, completeUntil: .now())) }

    /// Returns all rows of a selection, page by page. `between` runs after each page.
    func all(
        _ selection: TokenSelection, from cursor: PageCursor = PageCursor(), rowsMax: Int = 1000,
        between: () throws -> Void = {}
    ) throws -> [FoundRow] {
        var exclusions = ExclusionCounts()
        return try all(selection, from: cursor, rowsMax: rowsMax, leavingOut: &exclusions, between: between)
    }

    /// Returns all rows of a selection, page by page.
    ///
    /// - Parameter exclusions: Gets the number of excluded rows by reason, over all pages.
    func all(
        _ selection: TokenSelection, from cursor: PageCursor = PageCursor(), rowsMax: Int = 1000,
        leavingOut exclusions: inout ExclusionCounts, between: () throws -> Void = {}
    ) throws -> [FoundRow] {
        var page = TokenPage()
        var rows: [FoundRow] = []
        var cursor: PageCursor? = cursor
        while let pageStart = cursor {
            // The cursor goes through bytes, as in a continuation record.
            let decodedCursor = PageCursor(bytes: pageStart.bytes)
            cursor = try self.fillPage(with: selection, from: decodedCursor!, into: &page, rowsMax: rowsMax)
            #expect(page.count <= rowsMax)
            for index in 0..<page.count { rows.append(FoundRow(page[index])) }
            exclusions += page.exclusions
            try between()
        }
        return rows
    }
}

extension Lane {
    /// Expects that the lane has counted the activities of each group.
    func expectMemberCounts(of tokens: [RegistryKey: TokenRow], _ comment: String) throws {
        for app in RowMaker.apps {
            for case let group? in RowMaker.groups {
                let members = tokens.filter { key, row in
                    key.app == app && key.isUpdate && row.group.isExactlyEqual(to: group)
                }
                let count = try memberCount(of: group, app: app)
                #expect(count == members.count, "\(comment): members of \(group) of \(app)")
                #expect(try hasActivities(of: group, app: app) == !members.isEmpty, "\(comment)")
            }
            let alone = tokens.filter { key, row in key.app == app && key.isUpdate && row.group == nil }
            let names = Set(
                tokens.keys.compactMap { key in
                    if case .update(let activity) = key.entry { activity } else { nil }
                })
            let found = try countOfActivitiesWithoutGroup(among: Array(names), app: app)
            #expect(found == alone.count, "\(comment): activities without a group of \(app)")
        }
    }
}

/// A copy of a page's row, which can be compared.
struct FoundRow: Hashable {
    var recipient: String
    var installation: String
    var entry: String
    var token: String
    var hash: String
    var group: String?
    var type: String?
    var channel: String?
    var environment: Environment
    var frequent: Bool?
    var os: OSVersion?
    var registeredAt: Int64
    var movedAt: Int64?
    var hasMovedAway: Bool
    var isUnproven: Bool

    init(_ row: TokenPageRow) {
        recipient = text(row.recipient)
        installation = text(row.installation)
        entry = text(row.entryText)
        token = text(row.token)
        hash = String(decoding: Hex.encode(Array(row.tokenHash)), as: UTF8.self)
        if let span = row.group { group = text(span) }
        if let span = row.attributesType { type = text(span) }
        if let span = row.channel { channel = text(span) }
        environment = row.environment
        frequent = row.frequentPushesEnabled
        os = row.os
        registeredAt = row.registeredAt
        movedAt = row.movedAt
        hasMovedAway = row.hasMovedAway
        isUnproven = row.isUnproven
    }

    init(_ row: TokenRow, of key: RegistryKey) {
        recipient = spelled(key.recipient.text)
        installation = spelled(key.installation ?? "")
        entry = spelled(key.entry.text)
        token = row.token ?? ""
        hash = row.tokenHash ?? ""
        if case .start(let type) = key.entry {
            self.type = type.map(spelled)
        } else {
            group = row.group.map(spelled)
            type = row.attributesType.map(spelled)
        }
        channel = row.channel
        environment = row.environment
        frequent = row.frequentPushesEnabled
        os = row.os.flatMap { OSVersion($0) }
        registeredAt = row.registeredAt
        movedAt = row.movedAt
        hasMovedAway = row.movedTo != nil
        isUnproven = row.isUnproven
    }
}

private func text(_ span: Span<UInt8>) -> String { spelled(String(decoding: Array(span), as: UTF8.self)) }

/// Returns a text in which two spellings of one character differ, as they do in names.
private func spelled(_ text: String) -> String {
    text.unicodeScalars.map { $0.escaped(asASCII: true) }.joined()
}

/// Returns the hash of the token with a number.
func hash(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits + String(repeating: "0", count: 16)
}

/// Returns a row with the token of a number.
func token(
    _ number: Int, group: String? = nil, type: String? = "Match", registeredAt: Int64 = start
) -> TokenRow {
    var row = TokenRow(
        environment: .production, token: hash(number) + hash(number), tokenHash: hash(number),
        attributesType: type, registeredAt: registeredAt)
    row.group = group
    return row
}
