internal import COpenSSL

/// Conversion between the two forms of an ES256 signature, which is a pair of numbers, r and s. OpenSSL uses
/// DER. A JSON Web Token has the raw form: r, then s, each in 32 bytes.
enum ES256Signature {
    /// The length of r and of s in the raw form.
    private static let numberBytes = 32
    /// A signature in DER has at most 72 bytes.
    private static let derBytesMax = 80

    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        let signature = unsafe der.withUnsafeBufferPointer { buffer in
            var next = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &next, buffer.count)
        }
        guard let signature = unsafe signature else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        var r = [UInt8](repeating: 0, count: numberBytes)
        var s = r
        let fits =
            unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), &r, Int32(numberBytes)) == numberBytes
            && BN_bn2binpad(ECDSA_SIG_get0_s(signature), &s, Int32(numberBytes)) == numberBytes
        return fits ? r + s : nil
    }

    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * numberBytes, let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        let r = unsafe BN_bin2bn(Array(raw[..<numberBytes]), Int32(numberBytes), nil)
        let s = unsafe BN_bin2bn(Array(raw[numberBytes...]), Int32(numberBytes), nil)
        // On success the signature owns both numbers.
        guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
            unsafe BN_free(r)
            unsafe BN_free(s)
            return nil
        }
        var der = [UInt8](repeating: 0, count: derBytesMax)
        let count = unsafe der.withUnsafeMutableBufferPointer { buffer in
            var next = buffer.baseAddress
            return unsafe i2d_ECDSA_SIG(signature, &next)
        }
        return count > 0 ? Array(der.prefix(Int(count))) : nil
    }
}
