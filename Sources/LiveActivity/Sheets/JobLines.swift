/// The jobs of a sheet, a line for each: token, installation, entry of the registry and recipient, and the first
/// number of the phone's system where the phone has said it, with tabs between. Names have no control characters and
/// a stored token has none either, so nothing needs an escape.
///
/// It is on the hot path of a fan-out: bytes go in as they lie in a page of the registry.
package struct JobLines {
    package private(set) var bytes: [UInt8] = []
    package private(set) var count = 0

    private static let tab = UInt8(ascii: "\t")
    private static let newline = UInt8(ascii: "\n")

    package init() {}

    /// - Parameters:
    ///   - token: as `TokenSeal.seal` stores it; for a broadcast, the channel's id.
    ///   - entry: the registry row that the token belongs to, with which it was sealed: `update:<activity>`.
    ///   - recipient: `u:<user>` or `i:<installation>`.
    ///   - system: of the phone; nil where it has not said it.
    package mutating func append(
        token: Span<UInt8>, installation: Span<UInt8>, entry: Span<UInt8>, recipient: Span<UInt8>,
        system: OSVersion? = nil
    ) {
        precondition(count < SheetHead.jobsMax, "a sheet has at most \(SheetHead.jobsMax) jobs")
        bytes.append(token)
        bytes.append(Self.tab)
        bytes.append(installation)
        bytes.append(Self.tab)
        bytes.append(entry)
        bytes.append(Self.tab)
        bytes.append(recipient)
        if let system { append(system: system.major) }
        bytes.append(Self.newline)
        count += 1
    }

    private mutating func append(system: UInt8) {
        bytes.append(Self.tab)
        for unit: UInt8 in [100, 10, 1] where system >= unit {
            bytes.append(UInt8(ascii: "0") + system / unit % 10)
        }
    }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        count = 0
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
