package import Identifiers

/// A writer of a sheet's header `to`, which has one line for each job. A line holds the token, installation,
/// registry entry, recipient and, if known, the phone's major system version, separated by tabs, for example
/// `<token>\tphone-1\tupdate:activity-9\tu:ann\t26`. Names and stored tokens have no control characters, so they
/// need no escape.
///
/// This is on the hot path of the fan-out: bytes are copied directly from a page of the registry.
package struct JobLines {
    package private(set) var bytes: [UInt8] = []
    package private(set) var count = 0

    private static let tab = UInt8(ascii: "\t")
    private static let newline = UInt8(ascii: "\n")

    package init() {}

    /// Appends a job.
    ///
    /// - Parameters:
    ///   - token: the token as `TokenSeal.seal` stores it, or the channel's id for a broadcast.
    ///   - entry: the registry row for which the token was sealed, for example `update:<activity>`.
    ///   - recipient: `u:<user>` or `i:<installation>`.
    ///   - system: the phone's system version, or nil if the phone did not report it. The major version 0 counts as
    ///     unreported.
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
        if let system, system.major != OSVersion.unreportedMajor { append(systemVersion: system.major) }
        bytes.append(Self.newline)
        count += 1
    }

    /// Appends a tab and the number in decimal digits, without a `String`. The number is not 0, which would have no
    /// digits here.
    private mutating func append(systemVersion: UInt8) {
        bytes.append(Self.tab)
        for unit: UInt8 in [100, 10, 1] where systemVersion >= unit {
            bytes.append(UInt8(ascii: "0") + systemVersion / unit % 10)
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
