/// Sealing for a report's token in `reports` and `dead-letters`. The writer of the report seals it, and the
/// merging stage opens it.
///
/// The token is sealed for its registry entry, so that the merging stage can copy the sealed text unchanged.
extension TokenSeal {
    /// Seals the report's token if there are keys and the token is valid.
    package func seal(tokenOf report: inout Report) {
        guard isSealing, let digits = report.token, let token = PushToken(hex: digits) else { return }
        report.token = seal(token, app: report.app, entry: report.tokenEntry.text)
    }

    /// Returns the report's token, or nil if it has none. The token may be unsealed: from a service without
    /// keys, or from before the installation had keys.
    package func open(tokenOf report: Report) throws(Failure) -> PushToken? {
        guard let stored = report.token else { return nil }
        return try open(stored, app: report.app, entry: report.tokenEntry.text)
    }

    private static let keyNumberDigitsMax = 6
    /// The base64url length of the nonce, the longest token and AES-GCM's tag.
    private static let sealedBytesMax = (12 + PushToken.bytesMax + 16) * 4 / 3 + 4

    /// Whether a text has the form of a sealed token. No token in hexadecimal has it.
    package static func isSealed(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard unsafe text.first == UInt8(ascii: "s") else { return false }
        guard let dot = unsafe text.prefix(keyNumberDigitsMax + 2).firstIndex(of: UInt8(ascii: ".")), dot > 1,
            unsafe text[1..<dot].allSatisfy({ (0x30...0x39).contains($0) })
        else { return false }
        let sealed = unsafe text[(dot + 1)...]
        return unsafe (1...sealedBytesMax).contains(sealed.count) && sealed.allSatisfy(isBase64URL)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

extension Report {
    /// The registry entry of the report's token.
    package var tokenEntry: RegistryKey.Entry {
        if kind != .startToken, let activity { return .update(activity: activity) }
        return .start(type: attributesType)
    }

    /// Whether the token is sealed. Only Flotilla's own writers send sealed tokens.
    package var isTokenSealed: Bool {
        guard var token else { return false }
        return token.withUTF8 { unsafe TokenSeal.isSealed($0) }
    }
}
