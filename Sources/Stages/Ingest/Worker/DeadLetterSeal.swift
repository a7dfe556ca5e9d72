internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import TokenSealing

/// The sealing of push tokens in reports that ingest writes again, to the dead letters or to another partition: a
/// token in plain text must not be stored. All other bytes stay unchanged, so that an operator sees the fault and can
/// send the record again.
struct DeadLetterSeal {
    /// The shortest run of hexadecimal digits that counts as a token in an unreadable report. Hashes and
    /// identifiers are shorter.
    static let tokenDigitsMin = 64
    /// The registry entry for which a token of an unreadable report is sealed, because its own entry is unknown.
    static let registryEntry = "dead-letter"

    let tokenSeal: TokenSeal
    let reader: JSONReader

    /// Returns the sealed record, or nil if nothing has to be sealed.
    func sealedCopy(of value: Span<UInt8>) -> [UInt8]? {
        guard tokenSeal.isSealing else { return nil }
        let report = try? unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe Report.decode(bytes, with: reader)
        }
        guard let report else { return sealingDigits(in: value) }
        guard let digits = report.token, !report.isTokenSealed else { return nil }
        var sealed = report
        tokenSeal.seal(tokenOf: &sealed)
        guard let token = sealed.token, sealed.isTokenSealed else { return nil }
        return replacing(Array(digits.utf8), with: Array(token.utf8), in: value) ?? sealed.encoded()
    }

    /// Returns a copy with the replacement in place of each `text`. Returns nil if the text is not there, because the
    /// JSON has escapes.
    private func replacing(_ text: [UInt8], with replacement: [UInt8], in value: Span<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(value.count + replacement.count)
        var isFound = false
        var index = 0
        while index < value.count {
            if hasBytes(text, in: value, at: index) {
                result += replacement
                index += text.count
                isFound = true
            } else {
                result.append(value[index])
                index += 1
            }
        }
        return isFound ? result : nil
    }

    private func hasBytes(_ text: [UInt8], in value: Span<UInt8>, at start: Int) -> Bool {
        guard !text.isEmpty, value.count - start >= text.count else { return false }
        for index in text.indices where value[start + index] != text[index] { return false }
        return true
    }

    /// Seals everything in an unreadable report that can be a token: each long run of hexadecimal digits.
    private func sealingDigits(in value: Span<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var isFound = false
        var start = 0
        while start < value.count {
            var end = start
            while end < value.count, Hex.value(of: value[end]) != nil { end += 1 }
            let digits = value.extracting(start..<end)
            if digits.count >= Self.tokenDigitsMin {
                isFound = true
                appendSealed(digits: digits, to: &result)
            } else {
                for index in 0..<digits.count { result.append(digits[index]) }
            }
            if end < value.count { result.append(value[end]) }
            start = end + 1
        }
        return isFound ? result : nil
    }

    /// Appends the sealed digits. A run that is too long for one token is sealed in parts. An odd last digit, which is
    /// half a byte, stays in plain text.
    private func appendSealed(digits: Span<UInt8>, to result: inout [UInt8]) {
        var start = 0
        while digits.count - start >= 2 {
            let end = start + 2 * min(PushToken.bytesMax, (digits.count - start) / 2)
            let part = [UInt8](copying: digits.extracting(start..<end))
            guard let token = PushToken(hex: String(decoding: part, as: UTF8.self)) else { return }
            result += Array(tokenSeal.seal(token, app: "", entry: Self.registryEntry).utf8)
            start = end
        }
        if start < digits.count { result.append(digits[start]) }
    }
}
