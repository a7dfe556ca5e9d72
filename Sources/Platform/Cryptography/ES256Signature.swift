internal import COpenSSL

/// Conversion between two forms of an ECDSA signature: DER, for OpenSSL, and r and s with 32 bytes each, for
/// JSON Web Tokens.
enum ES256Signature {
    private static let halfBytes = 32

    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        let signature = unsafe der.withUnsafeBufferPointer { buffer in
            var next = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &next, buffer.count)
        }
        guard let signature = unsafe signature else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        var r = [UInt8](repeating: 0, count: halfBytes)
        var s = r
        let isGood =
            unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), &r, Int32(halfBytes)) == halfBytes
            && BN_bn2binpad(ECDSA_SIG_get0_s(signature), &s, Int32(halfBytes)) == halfBytes
        return isGood ? r + s : nil
    }

    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * halfBytes, let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        let r = unsafe BN_bin2bn(Array(raw[..<halfBytes]), Int32(halfBytes), nil)
        let s = unsafe BN_bin2bn(Array(raw[halfBytes...]), Int32(halfBytes), nil)
        // On success the signature owns both.
        guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
            unsafe BN_free(r)
            unsafe BN_free(s)
            return nil
        }
        var der = [UInt8](repeating: 0, count: 80)
        let count = unsafe der.withUnsafeMutableBufferPointer { buffer in
            var next = buffer.baseAddress
            return unsafe i2d_ECDSA_SIG(signature, &next)
        }
        return count > 0 ? Array(der.prefix(Int(count))) : nil
    }
}
