internal import COpenSSL

/// AES-256-GCM under one key. Without the key, sealed bytes can be neither read nor changed.
///
/// The sealed form is 12 bytes nonce, the ciphertext and 16 bytes tag. A nonce must never be used for two
/// different messages under one key. Random nonces allow about 2³² messages. A nonce that is a keyed hash of
/// the message allows any number of messages, and equal messages then have equal sealed forms.
///
/// The object owns two `EVP_CIPHER_CTX` with the key set. It is pinned to one thread: not Sendable.
@safe package final class AES256GCM {
    package static let keyBytes = 32
    package static let nonceBytes = 12
    package static let tagBytes = 16
    package static let overheadBytes = nonceBytes + tagBytes

    private let sealing: OpaquePointer
    private let opening: OpaquePointer

    package init(key: SecretBytes) {
        precondition(key.count == AES256GCM.keyBytes, "AES-256 needs a key of 32 bytes")
        guard let sealing = unsafe EVP_CIPHER_CTX_new(), let opening = unsafe EVP_CIPHER_CTX_new() else {
            preconditionFailure("out of memory")
        }
        unsafe self.sealing = sealing
        unsafe self.opening = opening
        let isGood = unsafe key.withBytes { key in
            let bytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe EVP_EncryptInit_ex(sealing, EVP_aes_256_gcm(), nil, bytes, nil) == 1
                && EVP_DecryptInit_ex(opening, EVP_aes_256_gcm(), nil, bytes, nil) == 1
        }
        precondition(isGood, "OpenSSL has no AES-256-GCM")
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(sealing)
        unsafe EVP_CIPHER_CTX_free(opening)
    }

    /// Writes the sealed form, `overheadBytes` longer than the message, and returns its length.
    package func seal(
        _ message: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) -> Int {
        precondition(nonce.count == AES256GCM.nonceBytes, "a nonce has 12 bytes")
        precondition(target.count >= message.count + AES256GCM.overheadBytes, "no room for the sealed form")
        let out = unsafe target.bindMemory(to: UInt8.self).baseAddress!
        let body = unsafe out + AES256GCM.nonceBytes
        var count: Int32 = 0
        unsafe target.copyMemory(from: nonce)
        let isGood =
            unsafe EVP_EncryptInit_ex(sealing, nil, nil, nil, out) == 1
            && EVP_EncryptUpdate(
                sealing, nil, &count, bytePointer(to: authenticating), Int32(authenticating.count))
                == 1
            && EVP_EncryptUpdate(sealing, body, &count, bytePointer(to: message), Int32(message.count)) == 1
            && EVP_EncryptFinal_ex(sealing, body + message.count, &count) == 1
            && tls_gcm_get_tag(sealing, body + message.count) == 1
        precondition(isGood, "AES-256-GCM failed")
        return message.count + AES256GCM.overheadBytes
    }

    /// Writes the message and returns its length. Returns nil if the message was not sealed with this key and
    /// these authenticated bytes. The content of `target` is then undefined.
    package func open(
        _ sealed: UnsafeRawBufferPointer, authenticating: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) -> Int? {
        let size = sealed.count - AES256GCM.overheadBytes
        guard size >= 0, let start = unsafe bytePointer(to: sealed) else { return nil }
        precondition(target.count >= size, "no room for the message")
        let body = unsafe start + AES256GCM.nonceBytes
        let out = unsafe target.bindMemory(to: UInt8.self).baseAddress
        var spare: UInt8 = 0
        var count: Int32 = 0
        let isGood =
            unsafe EVP_DecryptInit_ex(opening, nil, nil, nil, start) == 1
            && EVP_DecryptUpdate(
                opening, nil, &count, bytePointer(to: authenticating), Int32(authenticating.count))
                == 1
            && EVP_DecryptUpdate(opening, out, &count, body, Int32(size)) == 1
            && tls_gcm_set_tag(opening, body + size) == 1
            && EVP_DecryptFinal_ex(opening, &spare, &count) == 1
        OpenSSLErrors.clear()
        return isGood ? size : nil
    }

    private func bytePointer(to buffer: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
        unsafe buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    // MARK: In arrays

    package func seal(_ message: [UInt8], nonce: [UInt8], authenticating: [UInt8] = []) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: message.count + AES256GCM.overheadBytes) {
            target, count in
            count = unsafe message.withUnsafeBytes { message in
                unsafe nonce.withUnsafeBytes { nonce in
                    unsafe authenticating.withUnsafeBytes {
                        unsafe seal(message, nonce: nonce, authenticating: $0, into: .init(target))
                    }
                }
            }
        }
    }

    package func open(_ sealed: [UInt8], authenticating: [UInt8] = []) -> [UInt8]? {
        var message = [UInt8](repeating: 0, count: max(1, sealed.count))
        let size = unsafe message.withUnsafeMutableBytes { target in
            unsafe sealed.withUnsafeBytes { sealed in
                unsafe authenticating.withUnsafeBytes {
                    unsafe open(sealed, authenticating: $0, into: target)
                }
            }
        }
        return size.map { Array(message.prefix($0)) }
    }
}
