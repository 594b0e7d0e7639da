//! Wire types, one line each.

use wigwag_conformance::codec_conformance;

codec_conformance!(booleans, bool, true, false);
codec_conformance!(small_numbers, u8, 0, 127, 128, 255);
codec_conformance!(signed_numbers, i64, 0, -1, -33, i64::MIN, i64::MAX);
codec_conformance!(large_numbers, u64, 0, 1 << 32, u64::MAX);
codec_conformance!(fractions, f64, 0.0, -1.5, f64::INFINITY);
codec_conformance!(texts, String, String::new(), "zürich".repeat(100));
codec_conformance!(lists, Vec<u32>, Vec::new(), (0..20).map(|n| 1 << n).collect::<Vec<u32>>());
codec_conformance!(options, Option<String>, None, Some("x".to_owned()));
codec_conformance!(outcomes, Result<u32, String>, Ok(7), Err("no".to_owned()));
codec_conformance!(arrays, [i16; 3], [1, -2, 300]);
