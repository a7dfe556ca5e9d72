internal import Glibc
internal import Identifiers
package import Jobs
package import Registry
package import Sends

/// The output of a lane in one transaction, beside its rows of `starts`. It holds sheets of jobs,
/// continuations, and reports of finished expansions. Bodies and heads are made once and referred to by
/// number.
package struct JobOutput: ~Copyable {
    /// The part that all jobs with one content, scope and version share: a body, and heads that differ in the
    /// environment.
    package struct Variant: Sendable, Hashable { let number: Int }

    private struct SharedContent {
        let head: SheetHead
        let body: Int
        /// The open sheets, one for each environment and activity type.
        var openSheets: [OpenSheet] = []
    }

    private struct OpenSheet {
        let environment: Environment
        let type: [UInt8]?
        let head: Int
        /// The sheet. Nil before the first job and after the sheet is full.
        var sheet: Int?

        func hasType(_ other: Span<UInt8>?) -> Bool {
            guard let other else { return type == nil }
            return type?.equals(other) ?? false
        }
    }

    package struct Head: Sendable {
        package let apns: [UInt8]
        package let flotilla: [UInt8]
        package let head: SheetHead
    }

    package struct Sheet: Sendable {
        package let isUrgent: Bool
        package let body: Int
        package let head: Int
        package fileprivate(set) var lines = JobLines()
        /// The lines whose tokens APNs has not accepted yet.
        package fileprivate(set) var unprovenLines = LineSet()
    }

    private let jobsPerSheet: Int
    private var sharedContents: [SharedContent] = []
    package private(set) var bodies: [[UInt8]] = []
    package private(set) var heads: [Head] = []
    package private(set) var sheets: [Sheet] = []
    package private(set) var jobs = 0
    /// The rests of walks.
    package private(set) var continuations: [Expansion] = []
    package private(set) var progress: [ProgressRecord] = []
    package private(set) var subscriptions: [Subscription] = []

    package init(jobsPerSheet: Int) {
        self.jobsPerSheet = min(max(1, jobsPerSheet), SheetHead.jobsMax)
    }

    package var isEmpty: Bool {
        sheets.isEmpty && continuations.isEmpty && progress.isEmpty && subscriptions.isEmpty
    }

    package mutating func removeAll() {
        sharedContents.removeAll(keepingCapacity: true)
        bodies.removeAll(keepingCapacity: true)
        heads.removeAll(keepingCapacity: true)
        sheets.removeAll(keepingCapacity: true)
        jobs = 0
        continuations.removeAll(keepingCapacity: true)
        progress.removeAll(keepingCapacity: true)
        subscriptions.removeAll(keepingCapacity: true)
    }

    // MARK: Jobs

    /// - Parameter head: a head with any environment. A job uses the environment of its token.
    package mutating func makeVariant(head: SheetHead, body: [UInt8]) -> Variant {
        bodies.append(body)
        sharedContents.append(SharedContent(head: head, body: bodies.count - 1))
        return Variant(number: sharedContents.count - 1)
    }

    package func bodyBytes(of variant: Variant) -> Int { bodies[sharedContents[variant.number].body].count }

    /// Adds a job to a matching open sheet or to a new one.
    ///
    /// - Parameter type: the activity type. Nil if it is the same for all jobs of the variant.
    package mutating func add(
        _ row: borrowing TokenPageRow, type: Span<UInt8>?, as variant: Variant, isUrgent: Bool
    ) {
        let content = variant.number
        let slot = openSheet(of: content, environment: row.environment, type: type)
        let number: Int
        let bytes =
            row.token.count + row.installation.count + row.entryText.count + row.recipient.count
            + Self.lineBytes
        if let open = sharedContents[content].openSheets[slot].sheet, sheets[open].lines.count < jobsPerSheet,
            size(of: open) + bytes <= SheetHead.bytesMax
        {
            number = open
        } else {
            sheets.append(
                Sheet(
                    isUrgent: isUrgent, body: sharedContents[content].body,
                    head: sharedContents[content].openSheets[slot].head))
            number = sheets.count - 1
            sharedContents[content].openSheets[slot].sheet = number
        }
        if row.isUnproven { sheets[number].unprovenLines.append(sheets[number].lines.count) }
        sheets[number].lines.append(
            token: row.token, installation: row.installation, entry: row.entryText, recipient: row.recipient,
            system: row.os)
        jobs += 1
    }

    /// The bytes of tabs, newline, and the longest version number of a system.
    private static let lineBytes = 8

    private func size(of sheet: Int) -> Int {
        let head = sheets[sheet].head
        return sheets[sheet].lines.bytes.count + bodies[sheets[sheet].body].count + heads[head].apns.count
            + heads[head].flotilla.count
    }

    /// Returns the open sheet for the environment and type. It is nearly always the first, because the phones
    /// of a send share both.
    private mutating func openSheet(of content: Int, environment: Environment, type: Span<UInt8>?) -> Int {
        for slot in sharedContents[content].openSheets.indices
        where sharedContents[content].openSheets[slot].environment == environment
            && sharedContents[content].openSheets[slot].hasType(type)
        {
            return slot
        }
        var head = sharedContents[content].head
        head.environment = environment
        heads.append(Head(apns: head.apnsLines, flotilla: head.flotillaLines, head: head))
        var name: [UInt8]?
        if let type { name = [UInt8](copying: type) }
        sharedContents[content].openSheets.append(
            OpenSheet(environment: environment, type: name, head: heads.count - 1))
        return sharedContents[content].openSheets.count - 1
    }

    // MARK: Expansions

    package mutating func addContinuation(of expansion: Expansion) { continuations.append(expansion) }

    package mutating func add(_ subscription: Subscription) { subscriptions.append(subscription) }

    package mutating func addCompletion(of expansion: Expansion, lane: Int, at now: Int64) {
        progress.append(
            ProgressRecord(
                send: expansion.send, key: expansion.key, isDryRun: expansion.isDryRun,
                acceptedAt: expansion.acceptedAt, writtenAt: now, part: .lanes([lane], expansion.tally)))
    }
}

extension [UInt8] {
    init(copying span: Span<UInt8>) {
        self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
    }

    func equals(_ span: Span<UInt8>) -> Bool {
        guard count == span.count else { return false }
        return unsafe withUnsafeBytes { own in
            unsafe span.withUnsafeBytes { other in
                // An empty array has no address.
                guard let own = own.baseAddress, let other = other.baseAddress else { return true }
                return unsafe memcmp(own, other, count) == 0
            }
        }
    }
}
