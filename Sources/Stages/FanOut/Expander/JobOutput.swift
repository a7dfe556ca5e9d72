internal import Glibc
internal import Identifiers
package import Jobs
package import Registry
package import Sends

/// The output of a lane in one transaction, beside its rows of `starts`. It holds sheets of jobs, continuations, and
/// reports of finished expansions. Bodies and heads are made once and referred to by number.
package struct JobOutput: ~Copyable {
    /// The number of a body, which all jobs with one content, scope and version share. Their heads differ in the
    /// environment.
    package struct Variant: Sendable, Hashable { let number: Int }

    private struct SharedHead {
        let head: SheetHead
        /// The open sheets, one for each environment and activity type.
        var openSheets: [(type: [UInt8]?, sheet: Int)] = []
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
    /// The head of each body.
    private var sharedHeads: [SharedHead] = []
    package private(set) var bodies: [[UInt8]] = []
    package private(set) var heads: [Head] = []
    package private(set) var sheets: [Sheet] = []
    package private(set) var jobs = 0
    /// The rests of walks.
    package var continuations: [Expansion] = []
    package private(set) var progress: [ProgressRecord] = []
    package var subscriptions: [Subscription] = []

    package init(jobsPerSheet: Int) {
        self.jobsPerSheet = min(max(1, jobsPerSheet), SheetHead.jobsMax)
    }

    package var isEmpty: Bool {
        sheets.isEmpty && continuations.isEmpty && progress.isEmpty && subscriptions.isEmpty
    }

    package mutating func removeAll() {
        sharedHeads.removeAll(keepingCapacity: true)
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
        sharedHeads.append(SharedHead(head: head))
        return Variant(number: bodies.count - 1)
    }

    package func bodyBytes(of variant: Variant) -> Int { bodies[variant.number].count }

    /// Adds a job to a matching open sheet or to a new one.
    ///
    /// - Parameter type: the activity type. Nil if it is the same for all jobs of the variant.
    package mutating func add(
        _ row: borrowing TokenPageRow, type: Span<UInt8>?, as variant: Variant, isUrgent: Bool
    ) {
        let slot = slot(of: variant, environment: row.environment, type: type, isUrgent: isUrgent)
        var number = sharedHeads[variant.number].openSheets[slot].sheet
        let bytes =
            row.token.count + row.installation.count + row.entryText.count + row.recipient.count
            + Self.lineBytes
        if !hasSpace(in: number, forBytes: bytes) {
            sheets.append(Sheet(isUrgent: isUrgent, body: variant.number, head: sheets[number].head))
            number = sheets.count - 1
            sharedHeads[variant.number].openSheets[slot].sheet = number
        }
        if row.isUnproven { sheets[number].unprovenLines.append(sheets[number].lines.count) }
        sheets[number].lines.append(
            token: row.token, installation: row.installation, entry: row.entryText, recipient: row.recipient,
            system: row.os)
        jobs += 1
    }

    /// The bytes of tabs, newline, and the longest version number of a system.
    private static let lineBytes = 8

    private func hasSpace(in sheet: Int, forBytes bytes: Int) -> Bool {
        let (lines, head) = (sheets[sheet].lines, heads[sheets[sheet].head])
        if lines.count == 0 { return true }
        let size =
            lines.bytes.count + bodies[sheets[sheet].body].count + head.apns.count + head.flotilla.count
        return lines.count < jobsPerSheet && size + bytes <= SheetHead.bytesMax
    }

    /// Returns the index of the open sheet for the environment and type. It is nearly always the first, because the
    /// phones of a send share both.
    private mutating func slot(
        of variant: Variant, environment: Environment, type: Span<UInt8>?, isUrgent: Bool
    ) -> Int {
        let slots = sharedHeads[variant.number].openSheets.indices
        for slot in slots {
            let open = sharedHeads[variant.number].openSheets[slot]
            let hasType = if let type { open.type?.equals(type) ?? false } else { open.type == nil }
            if hasType, heads[sheets[open.sheet].head].head.environment == environment { return slot }
        }
        var head = sharedHeads[variant.number].head
        head.environment = environment
        heads.append(Head(apns: head.apnsLines, flotilla: head.flotillaLines, head: head))
        sheets.append(Sheet(isUrgent: isUrgent, body: variant.number, head: heads.count - 1))
        var name: [UInt8]?
        if let type { name = [UInt8](copying: type) }
        sharedHeads[variant.number].openSheets.append((name, sheets.count - 1))
        return slots.count
    }

    // MARK: Expansions

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

extension String {
    init(copying utf8: Span<UInt8>) {
        self = unsafe utf8.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
