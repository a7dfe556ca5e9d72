internal import Glibc

/// To `==`, one text in two spellings is the same text: a letter with its accent in one piece, or in two.
/// Keys, lanes and whoever reads the topics go by bytes, and so must whatever decides on what they hold.
extension String {
    @usableFromInline package func isExactly(_ other: String) -> Bool {
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
    @usableFromInline package func isExactly(_ other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let one?, let other?): one.isExactly(other)
        case (nil, _?), (_?, nil): false
        }
    }
}

extension [String] {
    @usableFromInline package func isExactly(_ other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.isExactly($1) }
    }
}
