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
let start: Int64 = 1_763_600_000_000

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
    func hear(_ key: RegistryKey, _ value: [UInt8]?, offset: Int64) throws {
        if let value {
            try apply(key: key.bytes.span, value: value.span, offset: offset)
        } else {
            try apply(key: key.bytes.span, value: nil, offset: offset)
        }
    }

    func commit(_ offset: Int64) throws { try commit(AppliedProgress(offset: offset, completeUntil: .now())) }

    /// Returns all rows of a selection, page by page. `between` runs after each page.
    func all(
        _ selection: TokenSelection, from cursor: PageCursor = PageCursor(), rowsMax: Int = 1000,
        between: () throws -> Void = {}
    ) throws -> [Found] {
        var exclusions = ExclusionCounts()
        return try all(selection, from: cursor, rowsMax: rowsMax, leavingOut: &exclusions, between: between)
    }

    /// - Parameter exclusions: The sum of the pages' exclusions.
    func all(
        _ selection: TokenSelection, from cursor: PageCursor = PageCursor(), rowsMax: Int = 1000,
        leavingOut exclusions: inout ExclusionCounts, between: () throws -> Void = {}
    ) throws -> [Found] {
        var page = TokenPage()
        var found: [Found] = []
        var cursor: PageCursor? = cursor
        while let next = cursor {
            // The cursor goes through bytes, as in a continuation record.
            let travelled = PageCursor(bytes: next.bytes)
            cursor = try self.fillPage(with: selection, from: travelled!, into: &page, rowsMax: rowsMax)
            #expect(page.count <= rowsMax)
            for index in 0..<page.count { found.append(Found(page[index])) }
            exclusions += page.exclusions
            try between()
        }
        return found
    }
}

/// A copy of a page's row.
struct Found: Hashable {
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

    init(_ key: RegistryKey, _ row: TokenRow) {
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

func hash(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits + String(repeating: "0", count: 16)
}

func token(
    _ number: Int, group: String? = nil, type: String? = "Match", registeredAt: Int64 = start
) -> TokenRow {
    var row = TokenRow(
        environment: .production, token: hash(number) + hash(number), tokenHash: hash(number),
        attributesType: type, registeredAt: registeredAt)
    row.group = group
    return row
}
