internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import TokenSealing

/// Seals the push tokens in a record of `reports` that is passed on: to the dead letters, or to its right
/// partition. All other bytes stay unchanged, so that the fault can be seen and the record can be sent again.
struct DeadLetterSeal {
    /// The shortest run of hexadecimal digits that counts as a token in an unreadable report. Hashes and
    /// identifiers are shorter.
    static let tokenDigitsMin = 64
    /// The registry entry for which a token of an unreadable report is sealed.
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

    /// Returns nil if the text is not there, because it was spelled differently.
    private func replacing(_ text: [UInt8], with other: [UInt8], in value: Span<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(value.count + other.count)
        var isFound = false
        var place = 0
        while place < value.count {
            if hasBytes(text, in: value, at: place) {
                result += other
                place += text.count
                isFound = true
            } else {
                result.append(value[place])
                place += 1
            }
        }
        return isFound ? result : nil
    }

    private func hasBytes(_ text: [UInt8], in value: Span<UInt8>, at place: Int) -> Bool {
        guard !text.isEmpty, value.count - place >= text.count else { return false }
        for index in text.indices where value[place + index] != text[index] { return false }
        return true
    }

    private func sealingDigits(in value: Span<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var isFound = false
        var place = 0
        while place < value.count {
            var end = place
            while end < value.count, Hex.value(of: value[end]) != nil { end += 1 }
            let run = value.extracting(place..<end)
            if run.count >= Self.tokenDigitsMin {
                isFound = true
                appendSealed(digits: run, to: &result)
            } else {
                for index in 0..<run.count { result.append(run[index]) }
            }
            if end < value.count { result.append(value[end]) }
            place = end + 1
        }
        return isFound ? result : nil
    }

    /// Seals the digits. Digits that are too long for one token are sealed in parts. Half a byte stays.
    private func appendSealed(digits: Span<UInt8>, to result: inout [UInt8]) {
        var place = 0
        while digits.count - place >= 2 {
            let end = place + 2 * min(PushToken.bytesMax, (digits.count - place) / 2)
            let piece = [UInt8](copying: digits.extracting(place..<end))
            guard let token = PushToken(hex: String(decoding: piece, as: UTF8.self)) else { return }
            result += Array(tokenSeal.seal(token, app: "", entry: Self.registryEntry).utf8)
            place = end
        }
        if place < digits.count { result.append(digits[place]) }
    }
}
