internal import Glibc

/// Byte-by-byte comparison of texts. `==` treats two spellings of one text as equal, for example an accented
/// letter as one or as two code points. Keys, lanes and readers of the topics compare bytes, so every
/// decision about their content must do the same.
extension String {
    @usableFromInline package func isExactlyEqual(to other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let isSame = unsafe utf8.withContiguousStorageIfAvailable { one in
            unsafe other.utf8.withContiguousStorageIfAvailable { two in
                unsafe one.isEmpty || memcmp(one.baseAddress!, two.baseAddress!, one.count) == 0
            }
        }
        return isSame.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
    }
}

extension String? {
    @usableFromInline package func isExactlyEqual(to other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let one?, let other?): one.isExactlyEqual(to: other)
        case (nil, _?), (_?, nil): false
        }
    }
}

extension [String] {
    @usableFromInline package func isExactlyEqual(to other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.isExactlyEqual(to: $1) }
    }
}
