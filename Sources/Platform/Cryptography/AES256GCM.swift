internal import COpenSSL

/// The cipher AES-256-GCM with one key. Without the key, a sealed message can be neither read nor changed.
///
/// A sealed message is the nonce (12 bytes), the ciphertext and the tag (16 bytes). A nonce must never be
/// used for two different messages with one key. Random nonces allow about 2³² messages. A nonce that is a
/// keyed hash of the message allows any number of messages, and equal messages then have equal sealed forms.
///
/// The bytes of `authenticating` are not part of the sealed message, but must be the same when it is opened.
///
/// The object owns two OpenSSL contexts (`EVP_CIPHER_CTX`) that have the key. It is confined to one thread.
@safe package final class AES256GCM {
    package static let keyBytes = 32
    package static let nonceBytes = 12
    package static let tagBytes = 16
    package static let overheadBytes = nonceBytes + tagBytes

    private let sealingContext: OpaquePointer
    private let openingContext: OpaquePointer

    package init(key: SecretBytes) {
        precondition(key.count == AES256GCM.keyBytes, "AES-256 needs a key of 32 bytes")
        guard let sealingContext = unsafe EVP_CIPHER_CTX_new(),
            let openingContext = unsafe EVP_CIPHER_CTX_new()
        else {
            preconditionFailure("out of memory")
        }
        unsafe self.sealingContext = sealingContext
        unsafe self.openingContext = openingContext
        let isKeySet = unsafe key.withBytes { key in
            let bytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe EVP_EncryptInit_ex(sealingContext, EVP_aes_256_gcm(), nil, bytes, nil) == 1
                && EVP_DecryptInit_ex(openingContext, EVP_aes_256_gcm(), nil, bytes, nil) == 1
        }
        precondition(isKeySet, "OpenSSL has no AES-256-GCM")
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(sealingContext)
        unsafe EVP_CIPHER_CTX_free(openingContext)
    }

    /// Writes the sealed message, which is `overheadBytes` longer than the message, and returns its length.
    package func seal(
        _ message: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) -> Int {
        precondition(nonce.count == AES256GCM.nonceBytes, "a nonce has 12 bytes")
        precondition(
            target.count >= message.count + AES256GCM.overheadBytes, "no space for the sealed message")
        let sealedStart = unsafe target.bindMemory(to: UInt8.self).baseAddress!
        let ciphertext = unsafe sealedStart + AES256GCM.nonceBytes
        var count: Int32 = 0
        unsafe target.copyMemory(from: nonce)
        let isSealed =
            unsafe EVP_EncryptInit_ex(sealingContext, nil, nil, nil, sealedStart) == 1
            && EVP_EncryptUpdate(
                sealingContext, nil, &count, bytePointer(to: authenticating), Int32(authenticating.count))
                == 1
            && EVP_EncryptUpdate(
                sealingContext, ciphertext, &count, bytePointer(to: message), Int32(message.count)) == 1
            && EVP_EncryptFinal_ex(sealingContext, ciphertext + message.count, &count) == 1
            && tls_gcm_get_tag(sealingContext, ciphertext + message.count) == 1
        precondition(isSealed, "AES-256-GCM failed")
        return message.count + AES256GCM.overheadBytes
    }

    /// Writes the message and returns its length. Returns nil if it was not sealed with this key and these
    /// authenticated bytes. The content of `target` is then undefined.
    package func open(
        _ sealed: UnsafeRawBufferPointer, authenticating: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) -> Int? {
        let messageBytes = sealed.count - AES256GCM.overheadBytes
        guard messageBytes >= 0, let sealedStart = unsafe bytePointer(to: sealed) else { return nil }
        precondition(target.count >= messageBytes, "no space for the message")
        let ciphertext = unsafe sealedStart + AES256GCM.nonceBytes
        let messageStart = unsafe target.bindMemory(to: UInt8.self).baseAddress
        // The call that compares the tags writes nothing here, but OpenSSL wants an address.
        var unused: UInt8 = 0
        var count: Int32 = 0
        let isOpened =
            unsafe EVP_DecryptInit_ex(openingContext, nil, nil, nil, sealedStart) == 1
            && EVP_DecryptUpdate(
                openingContext, nil, &count, bytePointer(to: authenticating), Int32(authenticating.count))
                == 1
            && EVP_DecryptUpdate(openingContext, messageStart, &count, ciphertext, Int32(messageBytes)) == 1
            && tls_gcm_set_tag(openingContext, ciphertext + messageBytes) == 1
            && EVP_DecryptFinal_ex(openingContext, &unused, &count) == 1
        OpenSSLErrors.clear()
        return isOpened ? messageBytes : nil
    }

    private func bytePointer(to buffer: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
        unsafe buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    // MARK: The same for arrays

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
        // An empty array has no address.
        var message = [UInt8](repeating: 0, count: max(1, sealed.count))
        let messageBytes = unsafe message.withUnsafeMutableBytes { target in
            unsafe sealed.withUnsafeBytes { sealed in
                unsafe authenticating.withUnsafeBytes {
                    unsafe open(sealed, authenticating: $0, into: target)
                }
            }
        }
        return messageBytes.map { Array(message.prefix($0)) }
    }
}
