/// The jobs of a sheet, a line for each: token, installation, entry of the registry and recipient, with tabs
/// between. Names have no control characters and a stored token has none either, so nothing needs an escape.
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
    package mutating func append(
        token: Span<UInt8>, installation: Span<UInt8>, entry: Span<UInt8>, recipient: Span<UInt8>
    ) {
        precondition(count < SheetHead.jobsMax, "a sheet has at most \(SheetHead.jobsMax) jobs")
        bytes.append(token)
        bytes.append(Self.tab)
        bytes.append(installation)
        bytes.append(Self.tab)
        bytes.append(entry)
        bytes.append(Self.tab)
        bytes.append(recipient)
        bytes.append(Self.newline)
        count += 1
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
